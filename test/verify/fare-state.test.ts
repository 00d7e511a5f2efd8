import { describe, expect, it } from 'vitest'
import type { Belief } from '../../src/base/kinds.ts'
import { decide } from '../../src/verify/decide/decide.ts'
import {
  type FareState,
  initialState,
  type LegState,
  pairOf,
  shownPrice,
  UNKNOWN_LEG,
} from '../../src/verify/decide/fare-state.ts'
import { parseFareState } from '../../src/verify/decide/parse-fare-state.ts'
import { at, available, eur, observation, RULES, UNAVAILABLE } from './answers.ts'

function fare(legs: readonly Partial<LegState>[]): FareState {
  const [outbound, back] = legs
  return {
    ...initialState(false),
    outbound: { ...UNKNOWN_LEG, ...outbound },
    return: back ? { ...UNKNOWN_LEG, ...back } : null,
  }
}

it.each<[Belief[], string]>([
  [['available'], 'bookable'],
  [['unavailable'], 'not_bookable'],
  [['unknown'], 'unknown'],
  [['available', 'available'], 'bookable'],
  [['available', 'unknown'], 'unknown'],
  [['unknown', 'unavailable'], 'not_bookable'],
  [['unavailable', 'available'], 'not_bookable'],
])('legs %j are %s', (beliefs, pair) => {
  expect(pairOf(fare(beliefs.map((belief) => ({ belief }))))).toBe(pair)
})

describe('the price of a fare', () => {
  const leg = (amount: string, currency = 'EUR'): Partial<LegState> => {
    return { belief: 'available', price: { amount, currency } }
  }

  it('a fare has the sum of its legs as its price', () => {
    expect(shownPrice(fare([leg('10.10'), leg('20.95')]))).toEqual(eur('31.05'))
  })

  it('a fare has no price where a leg has none, or another currency', () => {
    expect(shownPrice(fare([leg('10.10'), { belief: 'available' }]))).toBeNull()
    expect(shownPrice(fare([leg('10.10'), leg('20.95', 'USD')]))).toBeNull()
    expect(shownPrice(fare([{ belief: 'unavailable' }]))).toBeNull()
  })
})

describe('a stored state', () => {
  const contradicted = { askedAt: at(60), observation: observation(UNAVAILABLE, available()) }
  const seen = { askedAt: at(0), observation: observation(available(), available()) }
  const state = decide(decide(initialState(true), seen, RULES).state, contradicted, RULES).state
  const stored = JSON.stringify(state)

  function damaged(change: (json: { outbound: Record<string, unknown> }) => void): unknown {
    const json = JSON.parse(stored)
    change(json)
    return json
  }

  it('a stored state is read without unknown fields', () => {
    const newer = { ...JSON.parse(stored), unknown: 'field' }

    expect(parseFareState(newer)).toEqual(state)
  })

  it.each<[string, (json: { outbound: Record<string, unknown> }) => void, string]>([
    ['another belief', ({ outbound }) => Object.assign(outbound, { belief: 'sold' }), 'belief'],
    ['a belief left out', ({ outbound }) => delete outbound.belief, 'belief'],
    [
      'a negative count',
      ({ outbound }) => Object.assign(outbound, { contradictions: -1 }),
      'contradictions',
    ],
    [
      'half a count',
      ({ outbound }) => Object.assign(outbound, { contradictions: 0.5 }),
      'contradictions',
    ],
    [
      'contradictions without a time',
      ({ outbound }) => Object.assign(outbound, { contradictedSince: null }),
      'contradictedSince',
    ],
    [
      'a time of another form',
      ({ outbound }) => Object.assign(outbound, { confirmedAt: '2026-03-01 08:00:00+00' }),
      'confirmedAt',
    ],
    [
      'a price as a number',
      ({ outbound }) => Object.assign(outbound, { price: { amount: 100, currency: 'EUR' } }),
      'price',
    ],
    [
      'a flight number as text',
      ({ outbound }) => Object.assign(outbound.flight as object, { numbers: ['101'] }),
      'flight.numbers[0]',
    ],
    [
      'stops as text',
      ({ outbound }) => Object.assign(outbound.flight as object, { stops: 'BCN' }),
      'flight.stops',
    ],
    [
      'a candidate as text',
      ({ outbound }) => Object.assign(outbound, { candidate: 'L2' }),
      'candidate',
    ],
  ])('a stored state with %s is refused, with the path to it', (_what, damage, place) => {
    expect(() => parseFareState(damaged(damage))).toThrow(
      expect.objectContaining({
        code: 'verify.state_malformed',
        where: `outbound.${place}`,
      }),
    )
  })

  it.each([null, undefined, [], 'state', {}])('a stored state that is %j is refused', (value) => {
    expect(() => parseFareState(value)).toThrow('the stored state of a fare is malformed')
  })
})
