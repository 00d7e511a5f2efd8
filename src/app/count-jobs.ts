import type { Metrics } from '../metrics/metrics.ts'
import type { JobHandler } from '../queue/queue-system.ts'
import { SnoozeError } from '../queue/snooze.ts'

/** Counts how the jobs of a queue end in this process: done, failed, to be tried again or not, or put off; and how long they wait and last. */
export function countJobs<P>(
  metrics: Metrics,
  queue: string,
  handler: JobHandler<P>,
): JobHandler<P> {
  metrics.queueJobs.inc({ queue, outcome: 'done' }, 0)
  metrics.queueJobs.inc({ queue, outcome: 'failed' }, 0)
  metrics.queueJobs.inc({ queue, outcome: 'put_off' }, 0)
  metrics.queueWait.zero({ queue })
  metrics.queueJobDuration.zero({ queue })
  return async (payload, context) => {
    if (context.waitedMs !== null) metrics.queueWait.observe({ queue }, context.waitedMs / 1000)
    const end = metrics.queueJobDuration.startTimer({ queue })
    try {
      await handler(payload, context)
      metrics.queueJobs.inc({ queue, outcome: 'done' })
    } catch (err) {
      const wasPutOff = err instanceof SnoozeError && context.canSnooze
      metrics.queueJobs.inc({ queue, outcome: wasPutOff ? 'put_off' : 'failed' })
      throw err
    } finally {
      end()
    }
  }
}

/** What a worker calls for each job that lost its own. */
export function countStalled({ queueStalled }: Metrics, queue: string): () => void {
  queueStalled.inc({ queue }, 0)
  return () => queueStalled.inc({ queue })
}
