import type { Metrics } from '../metrics/metrics.ts'
import type { JobHandler } from '../queue/queue-system.ts'

/** Counts how the jobs of a queue end in this process: done, or failed, to be tried again or not. */
export function countJobs<P>(
  metrics: Metrics,
  queue: string,
  handler: JobHandler<P>,
): JobHandler<P> {
  metrics.queueJobs.inc({ queue, outcome: 'done' }, 0)
  metrics.queueJobs.inc({ queue, outcome: 'failed' }, 0)
  return async (payload, context) => {
    try {
      await handler(payload, context)
      metrics.queueJobs.inc({ queue, outcome: 'done' })
    } catch (err) {
      metrics.queueJobs.inc({ queue, outcome: 'failed' })
      throw err
    }
  }
}
