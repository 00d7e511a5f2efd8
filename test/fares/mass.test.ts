import { describe, expect, it } from 'vitest'
import { readingOf } from '../../src/fares/answer.ts'
import { decide } from '../../src/fares/decide.ts'
import { askedLegs, isPartOfMass, type Mass } from '../../src/fares/mass.ts'
import { type FareState, initialState } from '../../src/fares/state.ts'
import type { Money } from '../../src/platform/base/money.ts'
import type { FlightSummary, LegObservation } from '../../src/upstream/observation.ts'
import { answer, at, CALM, eur, flight, RULES, UNAVAILABLE, unknown } from './answers.ts'

/** A flight at a price whose identity and itinerary follow from its summary. */
function leg(summary: Partial<FlightSummary> = {}, price: Money | null = eur('100')) {
  const { flight: usual, ...rest } = flight({ price })
  const shown = { ...usual, ...summary }
  const { airline, numbers, departsAt, arrivesAt } = shown
  const observed = {
    ...rest,
    identity: `${airline} ${numbers.join()} ${departsAt.slice(0, 10)}`,
    itinerary: `${departsAt} ${arrivesAt}`,
    departsAt,
    flight: shown,
  }
  return { kind: 'available', flight: observed } as const
}

/** The state of a fare that has shown this, twice where nothing is believed before. */
function believing(shown: LegObservation): FareState {
  return [0, 60].reduce(
    (state, seconds) => decide(state, answer(at(seconds), shown), RULES, CALM).state,
    initialState(false),
  )
}

function asked(was: LegObservation, is: LegObservation) {
  const state = believing(was)
  return askedLegs(state, readingOf(state, answer(at(120), is)))
}

const TWO = { numbers: [101, 102] }
const THREE = { numbers: [101, 102, 103] }
const usd: Money = { amount: '100', currency: 'USD' }

describe('what masses count of an answer', () => {
  it.each([
    ['the same', leg(), leg(), null, []],
    ['a price up by a fifth', leg(), leg({}, eur('120')), null, []],
    ['a price up by more', leg(), leg({}, eur('120.01')), 'price_changed', []],
    ['a price up by half', leg(), leg({}, eur('150')), 'price_changed', []],
    ['a price times 100', leg(), leg({}, eur('10000')), 'price_changed', ['price × 1.0e+2']],
    ['a price by three', leg(), leg({}, eur('33.33')), 'price_changed', ['price × 0.33']],
    ['a price of nothing', leg({}, eur('0')), leg(), 'price_changed', []],
    ['another currency', leg(), leg({}, usd), 'price_changed', ['price in USD']],
    ['no price', leg(), leg({}, null), null, []],
    ['sold out', leg(), UNAVAILABLE, 'became_unavailable', []],
    ['bookable again', UNAVAILABLE, leg(), 'became_available', []],
    [
      'departs later',
      leg(),
      leg({ departsAt: '2026-05-01 10:20' }),
      'itinerary_changed',
      ['departure 20 min'],
    ],
    [
      'departs earlier by its zone',
      leg(),
      leg({ departsAt: '2026-05-01 08:00' }),
      'itinerary_changed',
      ['departure -120 min', 'departure by its zone'],
    ],
    [
      'arrives later',
      leg(),
      leg({ arrivesAt: '2026-05-01 11:45' }),
      'itinerary_changed',
      ['arrival 15 min'],
    ],
    [
      'a place without a zone',
      leg({ from: '???' }),
      leg({ from: '???', departsAt: '2026-05-01 08:00' }),
      'itinerary_changed',
      ['departure -120 min'],
    ],
    [
      'the first leg missing',
      leg(TWO),
      leg({ numbers: [102] }),
      'identity_changed',
      ['leg 1 missing'],
    ],
    [
      'the last leg missing',
      leg(TWO),
      leg({ numbers: [101] }),
      'identity_changed',
      ['leg last missing'],
    ],
    [
      'the second of three missing',
      leg(THREE),
      leg({ numbers: [101, 103] }),
      'identity_changed',
      ['leg 2 missing'],
    ],
    ['two legs missing', leg(THREE), leg({ numbers: [101] }), 'identity_changed', []],
    ['other numbers', leg(TWO), leg({ numbers: [7] }), 'identity_changed', []],
  ] as const)('%s', (_, was, is, shows, differences) => {
    expect(asked(was, is)).toMatchObject([{ shows, differences }])
  })
})

it('of a leg of which nothing is believed, or that says nothing, masses count nothing', () => {
  expect(asked(unknown(), leg())).toEqual([])
  expect(asked(leg(), unknown())).toEqual([])
})

it('a sold-out leg counts by the flight that it was last, and by when its change was first shown', () => {
  const sold = decide(believing(leg(TWO)), answer(at(120), UNAVAILABLE), RULES, CALM).state
  const [again] = askedLegs(sold, readingOf(sold, answer(at(140), UNAVAILABLE)))
  expect(again).toEqual({
    leg: 'outbound',
    isAvailable: true,
    shows: 'became_unavailable',
    isReturn: false,
    since: at(120).toISOString(),
    airline: 'T1',
    numbers: 'T1 101 102',
    differences: [],
  })
  const [other] = askedLegs(sold, readingOf(sold, answer(at(140), leg(TWO, eur('300')))))
  expect(other?.since).toBe(at(140).toISOString())
  const [named] = asked(leg({ airlineCode: 'TT' }), leg({ airlineCode: 'TT' }))
  expect(named).toMatchObject({ airline: 'TT', numbers: 'TT 101' })
})

const ALL: Mass = { kind: 'price_changed', airline: null, difference: null }

it.each([
  ['all', ALL, true],
  ['its airline', { ...ALL, airline: 'T1' }, true],
  ['another airline', { ...ALL, airline: 'T2' }, false],
  ['its difference', { ...ALL, difference: 'price in USD' }, true],
  ['another difference', { ...ALL, difference: 'price × 2.0' }, false],
  ['another kind', { ...ALL, kind: 'became_unavailable' }, false],
] as const)('a price in another currency in a mass of %s', (_, mass, isPart) => {
  const state = believing(leg())
  const reading = readingOf(state, answer(at(120), leg({}, usd)))
  const kind = 'price_changed'
  expect(isPartOfMass(state, { kind, reading, masses: [mass] })).toBe(isPart)
  expect(isPartOfMass(state, { kind, reading, masses: [] })).toBe(false)
})

it('a first price waits with the others in a mass of prices, as no step can be seen', () => {
  const state = believing(leg({}, null))
  const reading = readingOf(state, answer(at(120), leg()))
  const part = (masses: readonly Mass[]) =>
    isPartOfMass(state, { kind: 'price_changed', reading, masses })
  expect(part([{ ...ALL, airline: 'T2' }])).toBe(true)
})
