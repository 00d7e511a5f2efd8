import type { Metrics } from '../metrics/metrics.ts'
import type { QueueSystem } from '../queue/queue-system.ts'
import { VERIFY_QUEUE } from '../recheck/dispatch-checks-job.ts'
import { SYNC_QUEUE } from '../route-sync/sync-list-job.ts'
import { TICK_QUEUE } from '../schedules/reconciler.ts'

/** Every queue that holds work. */
export const QUEUES = [TICK_QUEUE, SYNC_QUEUE, VERIFY_QUEUE] as const

/** Those whose jobs are owed to somebody. Ticks come round by themselves: one that failed is nobody's to mend. */
export const OWED_QUEUES = QUEUES.filter((name) => name !== TICK_QUEUE)

/** Jobs of a queue by state. What has ended well is of no interest: the counter of jobs tells it. */
export interface QueueDepth {
  readonly queue: string
  readonly waiting: number
  readonly active: number
  readonly delayed: number
  /** What no worker will try again, and a person must look at: never a tick, which the next one makes up for. */
  readonly dead: number
}

const STATES = ['waiting', 'active', 'delayed', 'dead'] as const

/** Throws QueueUnavailableError. */
export async function readDepth(
  queue: Pick<QueueSystem, 'counts'>,
  name: string,
): Promise<QueueDepth> {
  const { waiting, active, delayed, failed } = await queue.counts(name)
  return { queue: name, waiting, active, delayed, dead: name === TICK_QUEUE ? 0 : failed }
}

/** Sets the gauges of the queues from their store; where it does not answer there are none. */
export async function readQueueGauges(
  queue: Pick<QueueSystem, 'counts'>,
  metrics: Metrics,
): Promise<void> {
  const depths = await Promise.all(QUEUES.map((name) => readDepth(queue, name))).catch(() => [])
  metrics.queueDepth.reset()
  for (const depth of depths) {
    for (const state of STATES) {
      metrics.queueDepth.set({ queue: depth.queue, state }, depth[state])
    }
  }
}
