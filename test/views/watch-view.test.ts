import { describe, expect, it } from 'vitest'
import { decide } from '../../src/fares/decide.ts'
import { type FareState, initialState, priceReasonOf, storedState } from '../../src/fares/state.ts'
import { questionWith } from '../../src/upstream/question.ts'
import type { WatchFacts } from '../../src/views/watch-facts.ts'
import { viewOfWatch } from '../../src/views/watch-view-shapes.ts'
import type { WatchEntry } from '../../src/watches/rows/watch-row.ts'
import { answer, at, available, CALM, RULES, UNAVAILABLE } from '../fares/answers.ts'

const HOUR = 3_600

/** A watch for one adult, one way, that began at second 0. */
function watch(minIntervalSeconds: number | null = null, pausedAt: Date | null = null) {
  const entry: WatchEntry = {
    list: 'summer',
    reference: 'A-1',
    question: questionWith({ flightId: '101' }),
    priceThresholdAmount: null,
    priceThresholdPercent: null,
    departsOn: null,
    minIntervalSeconds,
    priority: 'normal',
    maxDelaySeconds: null,
    intents: null,
    route: null,
  }
  return { entry, beganAt: at(0), pausedAt }
}

const BOOKABLE = decide(initialState(false), answer(at(10), available()), RULES, CALM).state

function row(state: FareState) {
  return {
    state: storedState(state),
    hasReturn: false,
    lastGoodCheckAt: state.lastGoodCheckAt === null ? null : new Date(state.lastGoodCheckAt),
    priceCheckedAt: state.pricedAt === null ? null : new Date(state.pricedAt),
    priceReason: state.priceReason,
    isPriceShown: true,
    shownPriceReason: priceReasonOf(state),
    shownPriceAt: state.pricedAt === null ? null : new Date(state.pricedAt),
    everAvailableAt: null,
    hiddenReason: null,
    contradictedSince: null,
    heldSince: null,
  }
}

/** A fare that was found bookable ten seconds after the watch began. The view is read five minutes later. */
function facts(given: Partial<WatchFacts> = {}): WatchFacts {
  return {
    watchId: '019c1f70-0000-7000-8000-000000000001',
    ...row(BOOKABLE),
    askedAt: at(10),
    lastReason: null,
    endedAt: null,
    lastCheckWhy: 'scheduled',
    startedAt: at(11),
    departsAt: null,
    lastAmount: null,
    lastCurrency: null,
    lastBookableAt: null,
    outboundAtPause: null,
    returnAtPause: null,
    lane: null,
    laneDueAt: null,
    resellerDisabled: false,
    freshSeconds: HOUR,
    now: at(310),
    ...given,
  }
}

function view(given: Partial<WatchFacts> = {}, of = watch()) {
  return viewOfWatch(of, facts(given), { minRecheckSeconds: 60 })
}

describe('the belief that a watch shows', () => {
  it('the belief is fresh as long as what its reseller spends on the fare says', () => {
    const freshSeconds = 2 * HOUR

    const last = view({ freshSeconds, now: at(10 + freshSeconds) })
    const after = view({ freshSeconds, now: at(11 + freshSeconds) })

    expect([last.status, last.belief.state]).toEqual(['followed', 'bookable'])
    expect([after.status, after.belief.state, after.belief.price]).toEqual([
      'stale',
      'unknown',
      null,
    ])
  })

  it('the belief is unknown while its instants lie ahead of the clock', () => {
    const ahead = { askedAt: at(3_600), lastGoodCheckAt: at(3_600) }

    expect(view(ahead)).toMatchObject({
      status: 'new',
      belief: { state: 'unknown', price: null },
      lastGoodCheckAt: null,
      lastCheckAt: null,
    })
    expect(view({ askedAt: at(315), lastGoodCheckAt: at(315) }).status).toBe('followed')
  })

  it('a watch that has ended shows not_bookable and no later checks of its fare', () => {
    expect(view({ endedAt: at(300) })).toMatchObject({
      status: 'expired',
      belief: { state: 'not_bookable', price: null, outbound: { belief: 'unavailable' } },
      lastCheckAt: null,
      next: null,
    })
  })
})

describe('the reason of the last check', () => {
  const later = { askedAt: at(300), lastGoodCheckAt: at(300) }

  it.each([
    ['scheduled', 'scheduled'],
    ['confirmation', 'confirmation'],
    ['retry', 'retry'],
    ['first_check', 'scheduled'],
    ['on_demand', 'scheduled'],
    ['route_moved', 'scheduled'],
  ] as const)(
    'a check that was made for %s is shown as %s: other watches stay secret',
    (lastCheckWhy, shown) => {
      expect(view({ ...later, lastCheckWhy }).lastCheckWhy).toBe(shown)
    },
  )
})

const PENDING_LOSS = decide(BOOKABLE, answer(at(10), UNAVAILABLE), RULES, CALM).state

describe('the next check', () => {
  it.each([
    ['due after the minimum interval of all fares', null, null, 60, 'scheduled'],
    ['due after the watch’s own interval', null, HOUR, HOUR, 'scheduled'],
    ['a confirmation when its lane is due', 'confirmation', HOUR, 20, 'confirmation'],
    ['a retry after 30 s', 'retry', HOUR, 30, 'retry'],
    [
      'due after its own interval although another watch has an early check',
      'first_check',
      HOUR,
      HOUR,
      'scheduled',
    ],
  ] as const)('the next check is %s', (_, lane, minIntervalSeconds, seconds, why) => {
    const state = lane === 'confirmation' ? PENDING_LOSS : BOOKABLE

    const { next } = view({ lane, laneDueAt: at(30), ...row(state) }, watch(minIntervalSeconds))

    expect(next).toEqual({ notBefore: at(10 + seconds), why })
  })
})

it('a held belief is shown as unknown, with the instants that explain it', () => {
  const held = { hiddenReason: 'held', contradictedSince: at(100), heldSince: at(120) } as const

  expect(view(held)).toMatchObject({
    status: 'followed',
    belief: { state: 'unknown', price: null, outbound: { belief: 'unknown' } },
    ...held,
  })
})

it('a held price hides the price alone', () => {
  expect(view({ shownPriceReason: 'held', isPriceShown: false })).toMatchObject({
    belief: { state: 'bookable', price: null, outbound: { belief: 'available', price: null } },
    priceReason: 'held',
  })
})
