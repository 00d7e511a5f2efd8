import type { Clock } from '../base/clock.ts'
import { TICK_OPTIONS } from './job-options.ts'
import type { StoreQueue } from './store-client.ts'
import { readStoreFacts } from './store-facts.ts'

/** More than any two clocks differ that are kept right, and than a tick is ever late. */
const MAX_AHEAD_MS = 30_000

/**
 * Makes a tick exist, and ticks again one that waits for a time that is not to come soon.
 *
 * BullMQ reckons the next run with the clock of the process that began the last one, and each process waits for it
 * by its own. Where the clock of one that has gone was ahead, or that of the only one left is behind, nobody would
 * tick until it is there. Where others do tick, putting it right costs one tick too many.
 */
export async function upsertTickIn(
  queue: StoreQueue,
  { name, everyMs }: { readonly name: string; readonly everyMs: number },
  clock: Clock,
): Promise<void> {
  const found = await queue.getJobScheduler(name)
  if (found?.next !== undefined) {
    const { clockSkewMs } = await readStoreFacts(queue.getBackend(), clock)
    const aheadMs = found.next - clock.now().getTime() + Math.max(0, -clockSkewMs)
    if (aheadMs > everyMs + MAX_AHEAD_MS) await queue.removeJobScheduler(name)
  }
  const template = { name, data: { tick: name }, opts: TICK_OPTIONS }
  await queue.upsertJobScheduler(name, { every: everyMs }, template)
}
