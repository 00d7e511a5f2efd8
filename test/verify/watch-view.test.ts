import { describe, expect, it } from 'vitest'
import { decide } from '../../src/verify/decide/decide.ts'
import { initialState, toJson } from '../../src/verify/decide/fare-state.ts'
import { viewOfWatch, type WatchFacts } from '../../src/verify/read/watch-view.ts'
import { entryOf } from '../../src/watch/rows/watch-entry.ts'
import { at, available, observation, RULES, UNAVAILABLE } from './answers.ts'

const HOUR = 3_600

/** A watch for one adult, one way, that began at second 0. */
function watch(minIntervalSeconds: number | null = null, pausedAt: Date | null = null) {
  const counts = { residentsAdults: 0, residentsChildren: 0, residentsInfants: 0 }
  const others = { nonResidentsAdults: 1, nonResidentsChildren: 0, nonResidentsInfants: 0 }
  const entry = entryOf({
    list: 'summer',
    reference: 'A-1',
    flightId: '101',
    returnFlightId: null,
    ...counts,
    ...others,
    priceThresholdAmount: null,
    priceThresholdPercent: null,
    departsOn: null,
    minIntervalSeconds,
  })
  return { entry, beganAt: at(0), pausedAt }
}

const BOOKABLE = decide(
  initialState(false),
  { askedAt: at(10), observation: observation(available()) },
  RULES,
).state

/** A fare that was found bookable ten seconds after the watch began, seen five minutes later. */
function facts(given: Partial<WatchFacts> = {}): WatchFacts {
  return {
    watchId: '019c1f70-0000-7000-8000-000000000001',
    state: toJson(BOOKABLE),
    askedAt: at(10),
    lastGoodCheckAt: at(10),
    lastReason: null,
    endedAt: null,
    hasStarted: true,
    lane: null,
    resellerDisabled: false,
    expectedIntervalSeconds: 60,
    now: at(310),
    ...given,
  }
}

function view(given: Partial<WatchFacts> = {}, of = watch()) {
  return viewOfWatch(of, facts(given), { minRecheckSeconds: 60 })
}

describe('a belief', () => {
  it.each([
    ['an hour', 60, null, HOUR],
    ['an hour while six turns are no longer', 600, null, HOUR],
    ['two hours where six turns are a little more than one', 601, null, 2 * HOUR],
    ['eight hours where six turns are six', HOUR, null, 8 * HOUR],
    ['six of its own intervals', 60, HOUR, 6 * HOUR],
  ] as const)('is current for %s', (_, expectedIntervalSeconds, minIntervalSeconds, seconds) => {
    const of = watch(minIntervalSeconds)

    const last = view({ expectedIntervalSeconds, now: at(10 + seconds) }, of)
    const after = view({ expectedIntervalSeconds, now: at(11 + seconds) }, of)

    expect([last.status, last.belief.pair]).toEqual(['followed', 'bookable'])
    expect([after.status, after.belief.pair, after.belief.price]).toEqual([
      'stale',
      'unknown',
      null,
    ])
  })

  it('a new watch shows at once what is believed of its fare', () => {
    const before = { askedAt: at(-60), lastGoodCheckAt: at(-60) }

    expect(view(before)).toMatchObject({
      status: 'followed',
      belief: { pair: 'bookable' },
      lastGoodCheckAt: at(-60),
      lastCheckAt: at(-60),
      next: { why: 'turn', notBefore: at(0) },
    })
  })

  it('a watch that waits for a good check has an early one coming', () => {
    const stale = { hasStarted: false, askedAt: at(-7_200), lastGoodCheckAt: at(-7_200) }

    expect(view(stale)).toMatchObject({
      status: 'stale',
      belief: { pair: 'unknown' },
      next: { why: 'first_look', notBefore: at(0) },
    })
    expect(view({ ...stale, askedAt: at(5) }).next?.why).toBe('turn')
  })

  it('is nobody’s while the watch is paused, or its reseller disabled', () => {
    const nothing = { status: 'paused', belief: { pair: 'unknown' }, next: null, lastCheckAt: null }

    expect(view({}, watch(null, at(200)))).toMatchObject(nothing)
    expect(view({ resellerDisabled: true })).toMatchObject(nothing)
  })

  it('of a watch that has ended is not bookable, and nothing of its fare’s checks, which may go on', () => {
    expect(view({ endedAt: at(300) })).toMatchObject({
      status: 'expired',
      belief: { pair: 'not_bookable', price: null, outbound: { belief: 'unknown' } },
      lastCheckAt: null,
      next: null,
    })
  })
})

const DOUBTED = decide(
  BOOKABLE,
  { askedAt: at(10), observation: observation(UNAVAILABLE) },
  RULES,
).state

describe('the next check', () => {
  it.each([
    ['its turn', null, null, 60, 'turn'],
    ['its turn, by its own interval', null, HOUR, HOUR, 'turn'],
    ['a confirmation', 'confirmation', HOUR, 20, 'confirmation'],
    ['a retry', 'retry', HOUR, 30, 'retry'],
    ['its turn, where another watch has it looked at early', 'new_watch', HOUR, HOUR, 'turn'],
  ] as const)('is %s', (_, lane, minIntervalSeconds, seconds, why) => {
    const state = toJson(lane === 'confirmation' ? DOUBTED : BOOKABLE)

    const { next } = view({ lane, state }, watch(minIntervalSeconds))

    expect(next).toEqual({ notBefore: at(10 + seconds), why })
  })
})

it('a fare that was never there is followed once that is confirmed', () => {
  const look = (state: Parameters<typeof decide>[0], seconds: number) =>
    decide(state, { askedAt: at(seconds), observation: observation(UNAVAILABLE) }, RULES).state
  const once = look(initialState(false), 10)
  const twice = look(once, 30)

  expect(view({ state: toJson(once) }).status).toBe('new')
  expect(view({ state: toJson(twice) })).toMatchObject({
    status: 'followed',
    belief: { pair: 'not_bookable' },
  })
})
