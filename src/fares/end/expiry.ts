import type { EndReason } from '../../platform/base/kinds.ts'
import { endedView, type FareState } from '../decide/fare-state.ts'

/**
 * The record of a fare or a watch that has ended: the fare cannot be bought any more. A last check that lies ahead of `now`,
 * because the clock was set back, is not shown: the end would seem to have been detected before it.
 */
export function expiryOf(state: FareState, reason: EndReason | null, now: Date) {
  const { lastGoodCheckAt } = state
  const isAhead = Date.parse(lastGoodCheckAt ?? '') > now.getTime()
  return {
    kind: 'expired' as const,
    reason,
    before: state.belief,
    after: endedView(state.belief.return !== null),
    lastGoodCheckAt: isAhead ? null : lastGoodCheckAt,
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
