import { type FareState, viewOf } from '../decide/fare-state.ts'

/** The record of a fare or a watch that has ended: the fare cannot be bought any more. */
export function expiryOf(state: FareState, now: Date) {
  const before = viewOf(state)
  return {
    kind: 'expired' as const,
    before,
    after: { ...before, pair: 'not_bookable', price: null },
    lastGoodCheckAt: state.lastGoodCheckAt,
    detectedAt: now.toISOString(),
  }
}

/**
 * Repeats a step until it handles fewer than `limit`, or the signal aborts. All ends of a day can come at one moment: at one
 * batch a tick they would take hours, and in one transaction they would block the checks. Returns the sum.
 */
export async function inBatches(
  limit: number,
  step: (limit: number) => Promise<number>,
  signal?: AbortSignal,
): Promise<number> {
  let total = 0
  for (;;) {
    const done = await step(limit)
    total += done
    if (done < limit || signal?.aborted) return total
  }
}
