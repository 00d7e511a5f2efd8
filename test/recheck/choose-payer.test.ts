import { describe, expect, it } from 'vitest'
import { choosePayer, type PossiblePayer } from '../../src/recheck/policy/choose-payer.ts'

const BOTH = [1, 2]

/** Two queues that can have half of one check a second. The first has paid more. At the floor each takes 1,000 s at most. */
function queues(first: Partial<PossiblePayer> = {}, second: Partial<PossiblePayer> = {}) {
  const queue = { fares: 100, budgetPart: 0.5, promised: 0 }
  return new Map([
    [1, { ...queue, pass: 5, ...first }],
    [2, { ...queue, pass: 4, ...second }],
  ])
}

describe('the payer of a shared fare', () => {
  it('is the reseller that has paid least, of equal ones the first', () => {
    const fare = { resellers: BOTH, maxDelays: [] }

    expect(choosePayer(fare, queues(), 1)).toBe(2)
    expect(choosePayer(fare, queues({ pass: 4 }), 1)).toBe(1)
    expect(choosePayer(fare, new Map(), 1)).toBeUndefined()
  })

  it('is the one that asks for a longest delay, if the queue of the other may take longer', () => {
    const fare = { resellers: BOTH, maxDelays: [999, null] }

    expect(choosePayer(fare, queues(), 1)).toBe(1)
    expect(choosePayer({ ...fare, maxDelays: [1_000, null] }, queues(), 1)).toBe(2)
    expect(choosePayer(fare, queues({}, { fares: 99 }), 1)).toBe(2)
  })

  it('is of several that ask the one with the shortest delay, of equal ones that has paid least', () => {
    expect(choosePayer({ resellers: BOTH, maxDelays: [300, 400] }, queues(), 1)).toBe(1)
    expect(choosePayer({ resellers: BOTH, maxDelays: [300, 300] }, queues(), 1)).toBe(2)
  })

  it('is no reseller with more promised than it can keep, while another can', () => {
    const fare = { resellers: BOTH, maxDelays: [300, 400] }

    expect(choosePayer(fare, queues({ promised: 0.351 }), 1)).toBe(2)
    expect(choosePayer(fare, queues({ promised: 0.35 }), 1)).toBe(1)
    expect(choosePayer(fare, queues({ promised: 9 }, { promised: 9 }), 1)).toBe(2)
  })
})
