import type { Answered } from '../platform/http/api.ts'
import type { Metrics } from '../platform/metrics/metrics.ts'
import { SnoozeError } from '../platform/queue/job-processor.ts'
import type { JobHandler } from '../platform/queue/queue-system.ts'
import { API_OPERATIONS } from './api-operations.ts'
import type { App } from './app.ts'

/** Wraps a handler: counts how its jobs end in this process, how long they wait and how long they take. */
export function countJobs<P>(
  metrics: Metrics,
  queue: string,
  handler: JobHandler<P>,
): JobHandler<P> {
  for (const outcome of ['done', 'failed', 'snoozed']) metrics.queueJobs.inc({ queue, outcome }, 0)
  metrics.queueWait.zero({ queue })
  metrics.queueJobDuration.zero({ queue })
  return async (payload, context) => {
    if (context.waitedMs !== null) metrics.queueWait.observe({ queue }, context.waitedMs / 1000)
    const end = metrics.queueJobDuration.startTimer({ queue })
    try {
      await handler(payload, context)
      metrics.queueJobs.inc({ queue, outcome: 'done' })
    } catch (err) {
      const snoozed = err instanceof SnoozeError && context.canSnooze
      metrics.queueJobs.inc({ queue, outcome: snoozed ? 'snoozed' : 'failed' })
      throw err
    } finally {
      end()
    }
  }
}

/** Returns the callback that counts stalled jobs of a queue. */
export function countStalled({ queueStalled }: Metrics, queue: string): () => void {
  queueStalled.inc({ queue }, 0)
  return () => queueStalled.inc({ queue })
}

/**
 * Wraps the runs of a loop or of periodic work: records when one last succeeded in this process. The record begins with
 * the start of the process, because rare work runs once an hour in one of many processes.
 */
export function countRuns<T>(
  { metrics, clock }: Pick<App, 'metrics' | 'clock'>,
  { name, everyMs, run }: CountedWork<T>,
): CountedWork<T>['run'] {
  const succeeded = () => metrics.tickLastSuccess.set({ tick: name }, clock.now().getTime() / 1000)
  metrics.tickInterval.set({ tick: name }, everyMs / 1000)
  succeeded()
  return async (signal) => {
    const result = await run(signal)
    succeeded()
    return result
  }
}

interface CountedWork<T> {
  readonly name: string
  readonly everyMs: number
  readonly run: (signal: AbortSignal) => Promise<T>
}

/** Returns the callback that counts API requests. The series of every operation begin at 0. */
export function requestCounter({
  apiRequests,
  apiDuration,
}: Pick<Metrics, 'apiRequests' | 'apiDuration'>): (answered: Answered) => void {
  const lasting = new Set(API_OPERATIONS.filter(({ streams }) => streams).map(({ id }) => id))
  for (const { id: operation, answer } of API_OPERATIONS) {
    apiRequests.inc({ operation, status: String(answer.status ?? 200), code: '' }, 0)
    if (!lasting.has(operation)) apiDuration.zero({ operation })
  }
  return ({ operation, status, code, durationMs }) => {
    apiRequests.inc({ operation, status: String(status), code })
    // A stream lasts as long as its client likes. That is no measure of ours.
    if (!lasting.has(operation)) apiDuration.observe({ operation }, durationMs / 1000)
  }
}
