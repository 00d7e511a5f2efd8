import { describe, expect, it } from 'vitest'
import { choosePayers, type PossiblePayer } from '../../src/recheck/policy/choose-payer.ts'

/** Two queues that can have half of one check a second. The first has paid more. At the floor each takes 1,000 s at most. */
function queues(first: Partial<PossiblePayer> = {}, second: Partial<PossiblePayer> = {}) {
  const queue = { share: 1, fares: 100, budgetPart: 0.5, promised: 0 }
  return new Map([
    [1, { ...queue, pass: 5, ...first }],
    [2, { ...queue, pass: 4, ...second }],
  ])
}

/** The payer of one fare of both resellers; of none 9. */
function payerOf(maxDelays: readonly (number | null)[], known: ReadonlyMap<number, PossiblePayer>) {
  return choosePayers([{ id: 7, payer: 9, resellers: [1, 2], maxDelays }], known, 1).get(7)
}

describe('the payer of a shared fare', () => {
  it('is the reseller that has paid least, of equal ones the first', () => {
    expect(payerOf([], queues())).toBe(2)
    expect(payerOf([], queues({ pass: 4 }))).toBe(1)
    expect(payerOf([], new Map())).toBe(9)
  })

  it('alternates within a batch, by the shares', () => {
    const fares = Array.from({ length: 9 }, (_, id) => {
      return { id, payer: 1, resellers: [1, 2], maxDelays: [] }
    })
    const own = { id: 9, payer: 1, resellers: [1], maxDelays: [] }
    const equal = queues({ pass: 4 })

    const chosen = choosePayers([own, ...fares], equal, 1)
    expect([...chosen.values()]).toEqual([1, 1, 2, 1, 2, 1, 2, 1, 2, 1])
    const double = choosePayers(fares, queues({ pass: 4 }, { share: 2 }), 1)
    expect([...double.values()].filter((payer) => payer === 2)).toHaveLength(6)
    expect(equal.get(1)?.pass).toBe(4)
  })

  it('is the one that asks for a longest delay, if the queue of the other may take longer', () => {
    expect(payerOf([999, null], queues())).toBe(1)
    expect(payerOf([1_000, null], queues())).toBe(2)
    expect(payerOf([999, null], queues({}, { fares: 99 }))).toBe(2)
    // Not counted yet.
    expect(payerOf([1_000, null], queues({}, { fares: 0 }))).toBe(1)
  })

  it('is of several that ask the one with the shortest delay, of equal ones that has paid least', () => {
    expect(payerOf([300, 400], queues())).toBe(1)
    expect(payerOf([300, 300], queues())).toBe(2)
  })

  it('is the one whose delay is shortest as far as its share keeps it', () => {
    expect(payerOf([300, 400], queues({ promised: 0.46 }))).toBe(1)
    expect(payerOf([300, 400], queues({ promised: 0.47 }))).toBe(2)
    expect(payerOf([300, null], queues({ promised: 0.7 }))).toBe(1)
  })
})
