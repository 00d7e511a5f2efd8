import { JobWorker, type JobWorkerSpec } from './job-worker.ts'
import type { QueueContext } from './queue-context.ts'
import { QueueUnavailableError } from './queue-errors.ts'

export interface WorkerHandle {
  /** Liveness by progress: BullMQ's own `isRunning()` stays true for a worker that does nothing. */
  progress(): WorkerProgress
  /** Lets jobs finish, aborts them, and cuts the connections, all within `graceMs`. Never rejects. */
  close(graceMs: number): Promise<void>
}

export interface WorkerProgress {
  /** A poll was answered, a job began or ended, or a lock was renewed. */
  readonly lastActivityAt: Date
  readonly activeJobs: number
  /** When the handler that runs longest began; null where none runs. Its lock is renewed though it hangs. */
  readonly busySince: Date | null
}

export interface SupervisorDeps {
  readonly context: QueueContext
  /** Rejects while the store is away. */
  readonly ping: () => Promise<void>
}

/** Looks that find a worker stuck before it is replaced: the first may come right after the whole process slept. */
const STRIKES = 2

/**
 * Runs a worker, and replaces it when it makes no progress though its store answers.
 *
 * BullMQ's own recovery covers a cut connection; it does not cover one that went silent, a LISTEN connection
 * that cannot be had again, or a loop that broke. QueueUnavailableError when the first connect fails.
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
    const silentMs = clock.now().getTime() - worker.jobs.lastActivityAt().getTime()
    return worker.hasEnded || silentMs > staleMs
  }

  async function supervise(): Promise<void> {
    let strikes = 0
    while (!closing.signal.aborted) {
      await clock.sleep(timings.pollMs, closing.signal)
      strikes = isStuck(current) ? strikes + 1 : 0
      if (strikes >= STRIKES && (await replace())) strikes = 0
    }
  }

  /** False while the store is away: there is nothing to build on. */
  async function replace(): Promise<boolean> {
    try {
      await ping()
      const fresh = await JobWorker.start(context, spec)
      if (closing.signal.aborted) {
        fresh.abandon()
        return true
      }
      const silentSince = current.jobs.lastActivityAt()
      current.abandon()
      current = fresh
      log.warn({ silentSince }, 'queue worker was stuck, replaced')
      return true
    } catch (err) {
      if (!(err instanceof QueueUnavailableError)) log.error({ err }, 'queue worker not replaced')
      return false
    }
  }

  supervise().catch((err) => {
    if (!closing.signal.aborted) log.error({ err }, 'queue worker is no longer supervised')
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
