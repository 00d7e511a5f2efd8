import { describe, expect, it } from 'vitest'
import { balanceQueues, type SharedFare } from '../../src/recheck/policy/balance-queues.ts'
import type { ScheduleSums, Worth } from '../../src/recheck/policy/ticket.ts'

const WORTH = { weight: 1, value: 1, changesPerDay: 1 }
/** A queue of fares with a ticket of 1 each, and half of ten checks a second. */
const queue = (fares: number, more: Partial<ScheduleSums> = {}): ScheduleSums => {
  return { fares, tickets: fares, requestsPerSecond: 5, promised: 0, ...more }
}

/** A fare of both resellers, in the queue of the first. */
function fareOf({
  first = {},
  second = {},
  ...more
}: Partial<SharedFare & Record<'first' | 'second', Partial<Worth>>> = {}): SharedFare {
  const worths = new Map([
    [1, { ...WORTH, ...first }],
    [2, { ...WORTH, ...second }],
  ])
  return { id: 7, payer: 1, ticket: 1, worths, minIntervalSeconds: 0, ...more }
}

function queuesAfter(
  fares: readonly SharedFare[],
  first: ScheduleSums,
  second: ScheduleSums,
): number[] {
  const moves = balanceQueues(
    fares,
    new Map([
      [1, first],
      [2, second],
    ]),
  )
  return fares.map(({ id, payer }) => moves.find((move) => move.id === id)?.to ?? payer)
}

describe('the queue of a shared fare', () => {
  it('is the one in which its interval is shorter by a tenth', () => {
    expect(queuesAfter([fareOf()], queue(100), queue(50))).toEqual([2])
    expect(queuesAfter([fareOf()], queue(100), queue(98))).toEqual([1])
    expect(queuesAfter([fareOf()], queue(100), queue(89))).toEqual([2])
    expect(queuesAfter([fareOf()], queue(100), queue(120, { requestsPerSecond: 10 }))).toEqual([2])
  })

  it('counts those that moved before it', () => {
    const fares = Array.from({ length: 100 }, (_, id) => fareOf({ id }))

    const moved = queuesAfter(fares, queue(100), queue(20)).filter((to) => to === 2)

    // 58 and 62: another would gain nothing.
    expect(moved.length).toBeGreaterThan(33)
    expect(moved.length).toBeLessThanOrEqual(40)
  })

  it('depends on what each reseller wants of it', () => {
    const urgent = fareOf({ first: { weight: 20 } })
    expect(queuesAfter([urgent], queue(100), queue(50))).toEqual([1])
    // Each interval is that of a longest delay: 40 s, and 60 s.
    const asked = { first: { maxDelaySeconds: 60 }, second: { maxDelaySeconds: 40 } }
    const slow = { requestsPerSecond: 1 }
    expect(queuesAfter([fareOf(asked)], queue(500, slow), queue(900, slow))).toEqual([2])
    const kept = { first: { maxDelaySeconds: 60 } }
    expect(queuesAfter([fareOf(kept)], queue(500, slow), queue(400, slow))).toEqual([1])
    expect(queuesAfter([fareOf(kept)], queue(500, slow), queue(40, slow))).toEqual([2])
  })

  it('is of several that promised too much the one that keeps the shorter interval', () => {
    const asked = fareOf({ first: { maxDelaySeconds: 40 }, second: { maxDelaySeconds: 60 } })
    const slow = { requestsPerSecond: 1 }
    expect(queuesAfter([asked], queue(500, slow), queue(500, slow))).toEqual([1])
    expect(queuesAfter([asked], queue(500, { ...slow, promised: 1.4 }), queue(500, slow))).toEqual([
      2,
    ])
  })

  it('stays while the minimum interval is longer than both', () => {
    expect(queuesAfter([fareOf({ minIntervalSeconds: 60 })], queue(100), queue(50))).toEqual([1])
  })

  it('is that of a reseller that watches it', () => {
    const [move] = balanceQueues([fareOf({ payer: 3 })], new Map([[2, queue(900)]]))
    expect(move).toMatchObject({ from: 3, to: 2 })
    expect(balanceQueues([fareOf()], new Map())).toEqual([])
  })
})
