import { describe, expect, it } from 'vitest'
import { type LegView, viewOf } from '../../src/fares/decide/fare-state.ts'
import { type StateRow, stateOfRow } from '../../src/fares/decide/stored-state.ts'
import type { Belief } from '../../src/platform/base/kinds.ts'
import { eur } from './answers.ts'

function leg(belief: Belief, price: LegView['price'] = null): LegView {
  return { belief, price, identity: null, itinerary: null, flight: null }
}

it.each<[[Belief, Belief?], string]>([
  [['available'], 'bookable'],
  [['unavailable'], 'not_bookable'],
  [['unknown'], 'unknown'],
  [['available', 'available'], 'bookable'],
  [['available', 'unknown'], 'unknown'],
  [['unknown', 'unavailable'], 'not_bookable'],
  [['unavailable', 'available'], 'not_bookable'],
])('legs %j are %s', ([outbound, back], pair) => {
  expect(viewOf(leg(outbound), back ? leg(back) : null).pair).toBe(pair)
})

describe('the price of a fare', () => {
  const priced = (amount: string, currency = 'EUR') => leg('available', { amount, currency })

  it('a fare has the sum of its legs as its price', () => {
    expect(viewOf(priced('10.10'), priced('20.95')).price).toEqual(eur('31.05'))
  })

  it('a fare has no price where a leg has none, or another currency', () => {
    expect(viewOf(priced('10.10'), leg('available')).price).toBeNull()
    expect(viewOf(priced('10.10'), priced('20.95', 'USD')).price).toBeNull()
  })

  it('a fare that is not bookable shows the price of no leg', () => {
    expect(viewOf(priced('10.10'), leg('unavailable'))).toMatchObject({
      price: null,
      outbound: { price: null },
    })
  })
})

describe('a stored state', () => {
  const row: StateRow = {
    state: {},
    hasReturn: false,
    lastGoodCheckAt: null,
    priceCheckedAt: null,
    priceReason: null,
    everAvailableAt: null,
  }

  it('a fare without a check has a state that says nothing', () => {
    expect(stateOfRow(row).belief.pair).toBe('unknown')
    expect(stateOfRow({ ...row, state: null, hasReturn: true }).belief.return?.belief).toBe(
      'unknown',
    )
  })

  it('a state of another version is refused, with the part that is missing', () => {
    const older = { outbound: { belief: 'available' }, return: null }

    expect(() => stateOfRow({ ...row, state: older })).toThrow(
      'the stored state of a fare is malformed: belief is missing',
    )
  })
})
