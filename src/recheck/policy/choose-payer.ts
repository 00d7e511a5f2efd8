import { MOST_PROMISED } from '../../watch/most-promised.ts'
import { FLOOR } from './ticket.ts'

/** The queue of a reseller that may pay for a fare. */
export interface PossiblePayer {
  readonly pass: number
  readonly fares: number
  /** The part of the budget that it can have. */
  readonly budgetPart: number
  /** The checks a second that its longest delays need. */
  readonly promised: number
}

export interface SharedFare {
  /** The resellers of its active watches. */
  readonly resellers: readonly number[]
  /** For each of them its longest delay in seconds, or null; empty if none has one. */
  readonly maxDelays: readonly (number | null)[]
}

/**
 * The reseller that pays for a fare until its next check: the one that has paid least, so that its resellers take turns. Each queue
 * keeps the longest delay of its own reseller alone. So where the queue of that one may take longer than another asks for, the
 * other pays: the one with the shortest delay, unless it was promised more than its share can keep.
 */
export function choosePayer(
  { resellers, maxDelays }: SharedFare,
  queues: ReadonlyMap<number, PossiblePayer>,
  requestsPerSecond: number,
): number | undefined {
  const possible = resellers.flatMap((id, i) => {
    const queue = queues.get(id)
    return queue === undefined ? [] : [{ id, queue, maxDelay: maxDelays[i] ?? Infinity }]
  })
  const perSecond = ({ budgetPart }: PossiblePayer) => budgetPart * requestsPerSecond
  const [next] = possible.toSorted((a, b) => a.queue.pass - b.queue.pass)
  const [strictest] = possible
    .filter(({ queue }) => queue.promised <= MOST_PROMISED * perSecond(queue) * (1 + 1e-9))
    .toSorted((a, b) => a.maxDelay - b.maxDelay || a.queue.pass - b.queue.pass)
  if (next === undefined || strictest === undefined) return next?.id
  const longest = next.queue.fares / (FLOOR * perSecond(next.queue))
  return longest > strictest.maxDelay ? strictest.id : next.id
}
