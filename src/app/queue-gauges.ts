import type { Metrics } from '../metrics/metrics.ts'
import type { JobCounts, QueueSystem } from '../queue/queue-system.ts'
import { VERIFY_QUEUE } from '../recheck/dispatch-checks-job.ts'
import { SYNC_QUEUE } from '../route-sync/sync-list-job.ts'
import { TICK_QUEUE } from '../schedules/reconciler.ts'

/** Every queue that holds work. */
export const QUEUES = [TICK_QUEUE, SYNC_QUEUE, VERIFY_QUEUE] as const

/** The store's word for each state. What has ended well is of no interest: the counter of jobs tells it. */
const STATES: Readonly<Record<string, keyof JobCounts>> = {
  waiting: 'waiting',
  active: 'active',
  delayed: 'delayed',
  dead: 'failed',
}

/** Sets the gauges of the queues from their store; where it does not answer there are none. */
export async function readQueueGauges(
  queue: Pick<QueueSystem, 'counts'>,
  metrics: Metrics,
): Promise<void> {
  const counted = await Promise.all(
    QUEUES.map(async (name) => ({ name, counts: await queue.counts(name) })),
  ).catch(() => [])
  metrics.queueDepth.reset()
  for (const { name, counts } of counted) {
    for (const [state, key] of Object.entries(STATES)) {
      metrics.queueDepth.set({ queue: name, state }, counts[key])
    }
  }
}
