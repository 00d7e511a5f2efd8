import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { balanceQueues, type SharedFare } from '../../src/recheck/policy/balance-queues.ts'
import { type ScheduleSums, ticketOf, type Worth } from '../../src/recheck/policy/ticket.ts'

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
  return fares.map(({ id, payer }) => moves.find((move) => move.id === id)?.to.payer ?? payer)
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
})

/** Fares that the same resellers watch, each with its own priority, and some of them with a longest delay. */
interface Group {
  readonly fares: number
  readonly changesPerDay: number
  readonly watches: ReadonlyMap<number, Pick<Worth, 'weight' | 'maxDelaySeconds'>>
}

const SHARES = [1, 1, 4, 0.25]
const MINUTES = 40

const anyWatch = fc.record({
  weight: fc.constantFrom(1, 2, 5, 20),
  maxDelaySeconds: fc.oneof({ weight: 4, arbitrary: fc.constant(null) }, fc.constantFrom(60, 900)),
})

const anyGroup: fc.Arbitrary<Group> = fc.record({
  fares: fc.integer({ min: 1, max: 60 }),
  changesPerDay: fc.constantFrom(0.1, 1, 8),
  watches: fc
    .uniqueArray(fc.tuple(fc.nat({ max: SHARES.length - 1 }), anyWatch), {
      selector: ([reseller]) => reseller,
      minLength: 1,
      maxLength: 3,
    })
    .map((pairs) => new Map(pairs)),
})

/** The fares after some minutes, each of which rates all fares, counts the queues and moves fares. */
function playMinutes(groups: readonly Group[]) {
  const fares = groups.flatMap(({ watches, changesPerDay, fares: length }, group) => {
    const worths = new Map(
      [...watches].map(([reseller, watch]) => [reseller, { ...WORTH, ...watch, changesPerDay }]),
    )
    const payer = [...watches.keys()][0] ?? 0
    return Array.from({ length }, () => ({
      group,
      worths,
      payer,
      ticket: 1,
      minIntervalSeconds: 0,
    }))
  })
  const shares = SHARES.reduce((sum, share) => sum + share, 0)
  const count = () =>
    new Map(
      SHARES.map((share, reseller): [number, ScheduleSums] => {
        const own = fares.filter(({ payer }) => payer === reseller)
        const tickets = own.reduce((sum, { ticket }) => sum + ticket, 0)
        const promised = own.reduce((sum, { worths }) => {
          const seconds = worths.get(reseller)?.maxDelaySeconds
          return sum + (seconds ? 1 / seconds : 0)
        }, 0)
        const requestsPerSecond = share / shares
        return [reseller, { tickets, fares: own.length, requestsPerSecond, promised }]
      }),
    )
  let moved = 0
  for (let minute = 0; minute < MINUTES; minute += 1) {
    const queues = count()
    for (const fare of fares) {
      const [worth, queue] = [fare.worths.get(fare.payer), queues.get(fare.payer)]
      if (worth && queue) fare.ticket = ticketOf(worth, queue)
    }
    const moves = balanceQueues(
      fares.map((fare, id) => ({ ...fare, id })),
      count(),
    )
    for (const { id, to } of moves) {
      Object.assign(fares[id] ?? {}, { payer: to.payer, ticket: to.ticket })
    }
    moved = moves.length
  }
  const queues = count()
  const intervals = fares.map(({ payer, ticket, group }) => {
    const { tickets = 0, requestsPerSecond = 1 } = queues.get(payer) ?? {}
    return { group, seconds: tickets / (ticket * requestsPerSecond) }
  })
  return { moved, longest: groups.map((_, i) => longestOf(intervals, i)) }
}

function longestOf(
  intervals: readonly { readonly group: number; readonly seconds: number }[],
  of: number,
): number {
  return Math.max(...intervals.filter(({ group }) => group === of).map(({ seconds }) => seconds))
}

describe('among resellers with any overlaps, shares and priorities', () => {
  it('no fare is checked less often than if one of its resellers were alone with its share', () => {
    fc.assert(
      fc.property(fc.array(anyGroup, { minLength: 1, maxLength: 6 }), (groups) => {
        const { moved, longest } = playMinutes(groups)

        // In few worlds two fares change places for ever, which costs them nothing.
        expect(moved).toBeLessThanOrEqual(4)
        for (const reseller of SHARES.keys()) {
          const own = groups.flatMap((group, i) => {
            const watch = group.watches.get(reseller)
            return watch ? [{ ...group, i, watches: new Map([[reseller, watch]]) }] : []
          })
          const alone = playMinutes(own).longest
          for (const [at, { i }] of own.entries()) {
            expect(longest[i]).toBeLessThan(1.15 * (alone[at] ?? 0))
          }
        }
      }),
      { numRuns: 40 },
    )
  })
})
