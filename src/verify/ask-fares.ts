import type { Clock } from '../base/clock.ts'
import { waitForSlot } from '../upstream/budget.ts'
import type { Observation } from '../upstream/observation.ts'
import type { UpstreamClient } from '../upstream/upstream-client.ts'
import type { ClaimedFare } from './claimed-fares.ts'

/** One answer, and when its request began by the database's clock. */
export interface Check {
  readonly fareId: number
  readonly askedAt: Date
  readonly observation: Observation
}

export interface AskDeps {
  readonly upstream: Pick<UpstreamClient, 'verifyFares'>
  readonly clock: Clock
}

/**
 * Asks each fare at its reserved slot. A slot that has passed by more than a second is not used: its fare is
 * returned among the `late`.
 * @param skewMs the database's clock minus ours.
 */
export async function askFares(
  { upstream, clock }: AskDeps,
  fares: readonly ClaimedFare[],
  { skewMs, signal }: { skewMs: number; signal: AbortSignal },
): Promise<{ checks: Check[]; late: number[] }> {
  const late: number[] = []
  const asked = fares.map(async ({ fareId, slotAt, question }) => {
    if (!(await waitForSlot(slotAt, { clock, skewMs, signal }))) {
      late.push(fareId)
      return undefined
    }
    const askedAt = new Date(clock.now().getTime() + skewMs)
    return { fareId, askedAt, observation: await upstream.verifyFares(question, { signal }) }
  })
  const checks = await Promise.all(asked)
  return { checks: checks.filter((check) => check !== undefined), late }
}
