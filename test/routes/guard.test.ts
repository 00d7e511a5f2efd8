import { describe, expect, it } from 'vitest'
import {
  type AcceptedDay,
  absenceLimit,
  GUARD_LIMITS,
  type SnapshotEffect,
  suspicionOf,
} from '../../src/routes/guard.ts'

const CALM: SnapshotEffect = {
  baseline: false,
  repeated: false,
  listed: 2_000,
  live: 2_000,
  newlyAbsent: 0,
  missing: 0,
  absentLastDay: 0,
  emptied: 0,
  renumbered: 0,
  history: { accepted: [], daysSinceLast: 0 },
  added: 0,
  readded: 0,
  removed: 0,
  removedLastDay: 0,
  knownPlaces: 200,
  newlyEdited: 0,
}

function codeOf(effect: Partial<SnapshotEffect>): string | undefined {
  const { newlyAbsent = 0, absentLastDay = newlyAbsent } = effect
  return suspicionOf({ ...CALM, ...effect, absentLastDay }, GUARD_LIMITS)?.code
}

describe('the guard', () => {
  it.each<[string, Partial<SnapshotEffect>, string | undefined]>([
    ['an ordinary day', { newlyAbsent: 30, added: 40, removed: 20 }, undefined],
    ['an empty list', { listed: 0, newlyAbsent: 2_000 }, 'empty'],
    ['an empty list that was accepted before', { listed: 0, live: 0, repeated: true }, undefined],
    ['an empty baseline', { listed: 0, baseline: true, live: 0 }, 'empty'],
    ['a baseline of any size', { baseline: true, live: 0, added: 1_000_000 }, undefined],
    ['15 % missing', { newlyAbsent: 300 }, undefined],
    ['a route more than 15 % missing', { newlyAbsent: 301 }, 'mass_absence'],
    ['nine of ten routes missing', { live: 10, newlyAbsent: 9 }, undefined],
    ['ten of ten routes missing', { live: 10, newlyAbsent: 10 }, 'mass_absence'],
    [
      '15 % missing within 24 hours, some of them in earlier lists',
      { newlyAbsent: 100, absentLastDay: 300 },
      undefined,
    ],
    [
      'a route more than 15 % missing within 24 hours',
      { newlyAbsent: 100, absentLastDay: 301 },
      'mass_absence',
    ],
    ['much missing in earlier lists, nothing new', { absentLastDay: 1_000, emptied: 9 }, undefined],
    ['four departures without routes', { newlyAbsent: 30, emptied: 4 }, undefined],
    ['five departures without routes', { newlyAbsent: 30, emptied: 5 }, 'departures_emptied'],
    ['five departures that had nine routes', { newlyAbsent: 9, emptied: 5 }, undefined],
    ['five departures that had ten', { newlyAbsent: 10, emptied: 5 }, 'departures_emptied'],
    ['four places under new ids', { renumbered: 4 }, undefined],
    ['five places under new ids', { renumbered: 5 }, 'places_renumbered'],
    ['twice as many routes', { added: 2_000 }, undefined],
    ['more than twice as many routes', { added: 2_001 }, 'mass_addition'],
    [
      'routes removed in the last 24 hours, and as many new ones as were live',
      { added: 4_000, readded: 2_000 },
      undefined,
    ],
    [
      'routes removed in the last 24 hours, and one new route too many',
      { added: 4_001, readded: 2_000 },
      'mass_addition',
    ],
    ['a small list that grows tenfold', { live: 999, added: 9_990 }, undefined],
    ['a thousand routes that grow tenfold', { live: 1_000, added: 10_000 }, 'mass_addition'],
    ['just under half of the places changed', { newlyEdited: 99 }, undefined],
    ['half of the places changed', { newlyEdited: 100 }, 'mass_place_change'],
    ['nine of nine places changed', { knownPlaces: 9, newlyEdited: 9 }, undefined],
    ['ten of ten places changed', { knownPlaces: 10, newlyEdited: 10 }, 'mass_place_change'],
    ['nine of twenty routes removed', { live: 20, removed: 9 }, undefined],
    ['ten of twenty routes removed', { live: 20, removed: 10 }, 'mass_removal'],
    ['25 % removed within a day', { live: 1_600, removed: 100, removedLastDay: 400 }, undefined],
    [
      'more than 25 % removed within a day',
      { live: 1_600, removed: 101, removedLastDay: 400 },
      'mass_removal',
    ],
    ['much removed yesterday, nothing now', { live: 100, removedLastDay: 1_900 }, undefined],
  ])('the guard judges %s: %j -> %s', (_name, effect, code) => {
    expect(codeOf(effect)).toBe(code)
  })

  it.each<[Partial<SnapshotEffect>, string]>([
    [
      { newlyAbsent: 1_000, absentLastDay: 1_000 },
      '1,000 of 2,000 routes are missing at once (50.0 %, limit 15.0 %)',
    ],
    [
      { newlyAbsent: 100, absentLastDay: 400, removedLastDay: 200 },
      '400 of 2,200 routes are missing within 24 hours (18.2 %, limit 15.0 %)',
    ],
    [{ added: 5_000 }, '5,000 routes are new, 2,000 were live (250.0 %, limit 100.0 %)'],
    [{ newlyEdited: 150 }, '150 of 200 known places have other attributes (75.0 %, limit 50.0 %)'],
    [
      { live: 1_600, removed: 200, removedLastDay: 400 },
      '600 of 2,000 routes would be removed within 24 hours (30.0 %, limit 25.0 %)',
    ],
  ])('the reason of %j names the counts, the share and the limit', (effect, text) => {
    expect(suspicionOf({ ...CALM, ...effect }, GUARD_LIMITS)?.text).toBe(text)
  })
})

/** `count` accepted days that each lost this share of a thousand routes. */
function days(count: number, share = 0.0001, apart = 1): AcceptedDay[] {
  return Array.from({ length: count }, () => {
    return { days: apart, live: 10_000, removed: 10_000 * share }
  })
}

const limitAfter = (accepted: readonly AcceptedDay[], daysSinceLast = 0.25) =>
  absenceLimit({ accepted, daysSinceLast }, GUARD_LIMITS)

describe('the limit of absences', () => {
  it.each<[string, AcceptedDay[], number, number]>([
    ['15 % until 30 days are known', days(29), 0.25, 0.15],
    ['at least 1.5 % from then on', days(30), 0.25, 0.015],
    ['twice the largest daily loss', [...days(40), ...days(1, 0.01)], 0.25, 0.02],
    ['at most 15 %', [...days(40), ...days(1, 0.09)], 0.25, 0.15],
    ['that of one day also after an hour', days(40, 0.01), 0.04, 0.02],
    ['that of each day since the last list', days(40, 0.01), 3, 0.06],
    ['at least 1.5 % after a quiet week too', days(40), 7, 0.015],
    ['15 % for the first four weekly lists', days(4, 0.007, 7), 7, 0.15],
    ['twice the largest weekly loss for weekly lists', days(5, 0.01, 7), 7, 0.02],
    [
      'that of the last 60 days for weekly lists',
      [...days(1, 0.1, 7), ...days(9, 0.01, 7)],
      7,
      0.02,
    ],
    ['15 % after two lists that are 90 days apart', days(2, 0.01, 90), 1, 0.15],
  ])('is %s', (_name, accepted, daysSinceLast, limit) => {
    expect(limitAfter(accepted, daysSinceLast)).toBeCloseTo(limit, 10)
  })
})
