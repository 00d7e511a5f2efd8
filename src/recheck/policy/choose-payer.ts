import { MOST_PROMISED } from '../../watch/most-promised.ts'
import { type Account, chargeCheck } from './stride.ts'
import { FLOOR } from './ticket.ts'

/** The queue of a reseller that may pay for a fare. */
export interface PossiblePayer extends Account {
  readonly fares: number
  /** The part of the budget that it can have. */
  readonly budgetPart: number
  /** The checks a second that its longest delays need. */
  readonly promised: number
}

export interface SharedFare {
  readonly id: number
  readonly payer: number
  /** The resellers of its active watches. */
  readonly resellers: readonly number[]
  /** For each of them its longest delay in seconds, or null; empty if none has one. */
  readonly maxDelays: readonly (number | null)[]
}

/**
 * The payers of checked fares until their next checks, by fare. Each shared fare counts as paid when the next one is decided, so that
 * the fares of one batch do not all go to the same reseller. A fare without a known reseller keeps its payer.
 */
export function choosePayers(
  fares: readonly SharedFare[],
  queues: ReadonlyMap<number, PossiblePayer>,
  requestsPerSecond: number,
): Map<number, number> {
  const accounts = new Map([...queues].map(([id, queue]) => [id, { ...queue }]))
  const chosen = new Map<number, number>()
  for (const fare of fares) {
    const payer = choosePayer(fare, accounts, requestsPerSecond) ?? fare.payer
    if (fare.resellers.length > 1) chargeCheck(accounts, { payer })
    chosen.set(fare.id, payer)
  }
  return chosen
}

/**
 * The reseller that has paid least, so that the resellers of a fare take turns. Each queue keeps the longest delay of its own
 * reseller alone. So where the queue of that one may take longer than another asks for, the other pays: the one that asks for
 * the shortest. Where more is promised than a share can keep, its delays are longer in proportion.
 */
function choosePayer(
  { resellers, maxDelays }: SharedFare,
  queues: ReadonlyMap<number, PossiblePayer>,
  requestsPerSecond: number,
): number | undefined {
  const possible = resellers.flatMap((id, i) => {
    const queue = queues.get(id)
    if (queue === undefined) return []
    const perSecond = queue.budgetPart * requestsPerSecond
    const excess = Math.max(1, queue.promised / (MOST_PROMISED * perSecond))
    return [{ id, queue, perSecond, maxDelay: (maxDelays[i] ?? Infinity) * excess }]
  })
  const [next] = possible.toSorted((a, b) => a.queue.pass - b.queue.pass)
  const [strictest] = possible.toSorted(
    (a, b) => a.maxDelay - b.maxDelay || a.queue.pass - b.queue.pass,
  )
  if (next === undefined || strictest === undefined) return undefined
  // A queue that was not counted yet may get any number of fares before it is.
  const { fares } = next.queue
  const longest = fares === 0 ? Infinity : fares / (FLOOR * next.perSecond)
  return longest > strictest.maxDelay ? strictest.id : next.id
}
