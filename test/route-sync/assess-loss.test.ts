import { describe, expect, it } from 'vitest'
import { GUARD_LIMITS, type SnapshotEffect, suspicionOf } from '../../src/route-sync/plan/guard.ts'
import {
  assessLoss,
  isSeasonal,
  type LossPattern,
  resemblesCut,
  type SeasonPattern,
} from '../../src/route-sync/review/assess-loss.ts'
import { isLossAlone, releaseOf } from '../../src/route-sync/review/judge-snapshot.ts'
import {
  AUTUMN,
  CUTS,
  cut,
  type GeneratedRoute,
  generateNetwork,
  isLive,
  YEAR,
} from './seasonal-network.ts'

const HOUR_MS = 3_600_000
const ARRIVED = Date.parse('2026-10-25T06:00:00Z')

const COUNTRIES = Array.from({ length: 10 }, (_, i) => ({
  country: `Country ${i}`,
  live: 100,
  missing: 0,
}))
const PATTERN: LossPattern = {
  rows: 803,
  bytes: 80_123,
  live: 1_000,
  missing: 200,
  countries: COUNTRIES.map((c, i) => ({ ...c, missing: i < 5 ? 36 : 4 })),
  atEnd: 10,
  season: null,
}

describe('the assessment of a loss', () => {
  it.each<[string, Partial<LossPattern>, string]>([
    ['a round number of rows', { rows: 8_000 }, 'exactly 8,000 rows'],
    ['a whole number of buffers', { bytes: 81_920 }, 'a multiple of 4 KiB'],
    ['the end of the last list', { atEnd: 195 }, 'are the end of the last accepted list'],
    [
      'whole countries',
      { countries: COUNTRIES.map((c, i) => ({ ...c, missing: i < 2 ? 100 : 0 })) },
      'Country 0, Country 1 lost all routes',
    ],
    [
      'the same share of every country',
      { countries: COUNTRIES.map((c, i) => ({ ...c, missing: 18 + (i % 5) })) },
      'about the same share (20.0 %)',
    ],
  ])('%s is a sign of an accident', (_name, pattern, sign) => {
    const { cause, signs } = assessLoss({ ...PATTERN, ...pattern })

    expect(cause).toBe('accident')
    expect(signs[0]).toContain(sign)
    expect(signs).toHaveLength(2)
  })

  it('a loss without any sign is unclear, and a short history is said', () => {
    expect(assessLoss(PATTERN)).toEqual({
      cause: 'unclear',
      signs: ['The history is too short to compare with the same weeks of last year.'],
    })
  })

  it('a loss of what ended in the same weeks of last year is a season', () => {
    expect(assessLoss({ ...PATTERN, season: { ended: 210, missing: 190 } })).toEqual({
      cause: 'season',
      signs: [
        'In the same weeks of last year 210 of the live routes ended. The list lacks 190 of them, which is 95.0 % of all that it lacks.',
      ],
    })
  })

  it.each<[string, SeasonPattern]>([
    ['too many others are missing too', { ended: 210, missing: 179 }],
    ['most of the season is still there', { ended: 500, missing: 200 }],
    ['nothing ended last year', { ended: 0, missing: 0 }],
  ])('it is no season if %s', (_name, season) => {
    expect(assessLoss({ ...PATTERN, season }).cause).toBe('unclear')
  })
})

describe('a season', () => {
  it('does not explain a loss with more than 2 % of the live routes besides it', () => {
    const season = { ended: 400, missing: 400 }

    expect(isSeasonal({ live: 1_000, missing: 420, season })).toBe(true)
    expect(isSeasonal({ live: 1_000, missing: 421, season })).toBe(false)
  })

  it('does not release a list whose end or whose countries are gone', () => {
    const whole = COUNTRIES.map((c, i) => ({ ...c, missing: i < 2 ? 100 : 0 }))

    expect(resemblesCut(PATTERN)).toBe(false)
    expect(resemblesCut({ ...PATTERN, atEnd: 195 })).toBe(true)
    expect(resemblesCut({ ...PATTERN, countries: whole })).toBe(true)
  })

  it('does not release a list that is suspicious for what it adds or changes as well', () => {
    const { routes } = generateNetwork(1)
    const before = routes.filter((route) => isLive(route, YEAR + AUTUMN - 1))
    const loss = effectOf({ routes, before, after: new Set(before.slice(500)), day: YEAR + AUTUMN })

    expect(isLossAlone(loss, GUARD_LIMITS)).toBe(true)
    expect(isLossAlone({ ...loss, added: 2 * loss.live }, GUARD_LIMITS)).toBe(false)
    expect(isLossAlone({ ...loss, placesChanged: 60 }, GUARD_LIMITS)).toBe(false)
  })
})

/** The lists of two days of a network; the second one may have been cut. */
interface Step {
  readonly routes: readonly GeneratedRoute[]
  readonly before: readonly GeneratedRoute[]
  readonly after: ReadonlySet<GeneratedRoute>
  readonly day: number
}

function effectOf({ before, after }: Step): SnapshotEffect {
  const missing = before.filter((route) => !after.has(route)).length
  return {
    baseline: false,
    repeated: false,
    listed: after.size,
    live: before.length,
    newlyAbsent: missing,
    missing,
    added: 0,
    readded: 0,
    removed: 0,
    removedLastDay: 0,
    knownPlaces: 100,
    placesChanged: 0,
  }
}

function seasonOf({ before, after, day }: Step): SeasonPattern {
  const ended = before.filter(({ days }) =>
    days.some(([, to]) => Math.abs(to - (day - YEAR)) <= 10),
  )
  return { ended: ended.length, missing: ended.filter((route) => !after.has(route)).length }
}

/** Hours until a list that repeats unchanged every six hours is released; Infinity if a person must decide. */
function releasedAfter(effect: SnapshotEffect, seasonal: boolean): number {
  const suspicion = suspicionOf(effect, GUARD_LIMITS)
  if (suspicion === null) return 0
  for (let lists = 2; lists <= 10; lists += 1) {
    const hours = (lists - 1) * 6
    const heldRuns = Array.from({ length: lists - 1 }, (_, i) => i + 1)
    const state = { reviewId: 1, heldRuns, heldSince: new Date(ARRIVED), rejected: false }
    const fetchedAt = new Date(ARRIVED + hours * HOUR_MS)
    const list = { runId: lists, fetchedAt, suspicion, effect, seasonal }
    if (releaseOf(state, list, GUARD_LIMITS) !== null) return hours
  }
  return Number.POSITIVE_INFINITY
}

describe('lists of a network with seasons', () => {
  const { routes, random } = generateNetwork(1)
  const liveOn = (day: number) => routes.filter((route) => isLive(route, day))

  it('of a thousand lists that were cut, none that the guard holds is applied or released sooner', () => {
    const kinds = new Set<string>()
    let held = 0
    for (let i = 0; i < 1_000; i += 1) {
      const kind = CUTS[i % CUTS.length] ?? 'byte'
      // Half of the days are around the end of a season, where a mistake is likely.
      const near = AUTUMN - 15 + Math.floor(random.uniform() * 30)
      const day = YEAR + (i % 8 < 4 ? near : Math.floor(random.uniform() * (YEAR - 1)))
      const share = 0.05 + 0.9 * random.uniform()
      const after = new Set(cut(liveOn(day), kind, { share, random }))
      const step = { routes, before: liveOn(day - 1), after, day }
      const effect = effectOf(step)
      const seasonal = isSeasonal({ ...effect, season: seasonOf(step) })

      const today = releasedAfter(effect, false)
      if (today === 0) continue
      held += 1
      kinds.add(kind)
      expect(releasedAfter(effect, seasonal), `${kind} of ${share} on day ${day}`).toBe(today)
    }
    expect(held).toBeGreaterThan(700)
    expect(kinds.size).toBe(CUTS.length)
  })

  it('the end of a season is held, and released after 12 hours instead of 24', () => {
    const day = YEAR + AUTUMN
    const step = { routes, before: liveOn(day - 1), after: new Set(liveOn(day)), day }
    const effect = effectOf(step)
    const seasonal = isSeasonal({ ...effect, season: seasonOf(step) })

    expect(suspicionOf(effect, GUARD_LIMITS)?.code).toBe('mass_absence')
    expect([releasedAfter(effect, false), releasedAfter(effect, seasonal)]).toEqual([24, 12])
  })
})
