import { JobWorker, type JobWorkerSpec } from './job-worker.ts'
import type { QueueContext } from './queue-connection.ts'
import { QueueUnavailableError } from './queue-errors.ts'

export interface WorkerHandle {
  /** The progress of the worker. BullMQ's `isRunning()` stays true for a worker that does nothing. */
  progress(): WorkerProgress
  /** Lets jobs finish, aborts the rest and closes the connections, all within `graceMs`. Never rejects. */
  close(graceMs: number): Promise<void>
}

export interface WorkerProgress {
  /** When a poll returned, a job began or ended, or a lock was renewed. */
  readonly lastActivityAt: Date
  readonly activeJobs: number
  /** When the oldest running handler began; null if none runs. The lock of a handler that hangs is still renewed. */
  readonly busySince: Date | null
}

export interface SupervisorDeps {
  readonly context: QueueContext
  /** Rejects while the store is down. */
  readonly ping: () => Promise<void>
}

/** A worker is replaced after this many stuck checks in a row. One alone may follow a pause of the whole process. */
const STUCK_CHECKS = 2

/**
 * Runs a worker, and replaces it when it makes no progress although its store answers.
 *
 * BullMQ recovers from a lost connection. It does not recover from a stalled connection, from a LISTEN connection that
 * cannot be reopened, or from a poll loop that ended. Throws QueueUnavailableError if the first connect fails.
 */
export async function superviseWorker(
  { context, ping }: SupervisorDeps,
  spec: JobWorkerSpec,
): Promise<WorkerHandle> {
  const { clock, timings } = context
  const log = context.log.child({ queue: spec.queue })
  const closing = new AbortController()
  const staleMs = Math.max(4 * timings.pollMs, spec.settings.lockMs)
  let current = await JobWorker.start(context, spec)

  function isStuck(worker: JobWorker): boolean {
    const inactiveMs = clock.now().getTime() - worker.jobs.lastActivityAt().getTime()
    return worker.hasEnded || inactiveMs > staleMs
  }

  async function supervise(): Promise<void> {
    let stuckChecks = 0
    while (!closing.signal.aborted) {
      await clock.sleep(timings.pollMs, closing.signal)
      stuckChecks = isStuck(current) ? stuckChecks + 1 : 0
      if (stuckChecks >= STUCK_CHECKS && (await replace())) stuckChecks = 0
    }
  }

  /** Returns false while the store is down. */
  async function replace(): Promise<boolean> {
    try {
      await ping()
      const fresh = await JobWorker.start(context, spec)
      if (closing.signal.aborted) {
        fresh.abandon()
        return true
      }
      const stuckSince = current.jobs.lastActivityAt()
      current.abandon()
      current = fresh
      log.warn({ stuckSince }, 'replaced a stuck queue worker')
      return true
    } catch (err) {
      if (!(err instanceof QueueUnavailableError))
        log.error({ err }, 'cannot replace a stuck queue worker')
      return false
    }
  }

  supervise().catch((err) => {
    if (!closing.signal.aborted) log.error({ err }, 'supervision of a queue worker failed')
  })

  return {
    progress: () => ({
      lastActivityAt: current.jobs.lastActivityAt(),
      activeJobs: current.jobs.count(),
      busySince: current.jobs.busySince(),
    }),
    async close(graceMs) {
      closing.abort()
      await current.close(graceMs)
    },
  }
}
