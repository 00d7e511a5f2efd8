import {
  DelayedError,
  type IQueueBackend,
  type Job,
  type JobProgress,
  WaitingError,
  type Worker,
} from 'bullmq'
import { type BackoffPolicy, backoffMs, type Clock } from '../base/clock.ts'
import { AppError } from '../base/errors.ts'
import type { Logger } from '../base/logger.ts'
import type { Scrub } from '../base/secrets.ts'
import type { JsonObject } from './queue-connection.ts'
import { type JobAbortedError, toJobError } from './queue-errors.ts'

export interface JobContext {
  /** The name of its scheduler; of any other job the name of its queue. */
  readonly name: string
  /** When it was due first, by the clock of the process that made it. */
  readonly dueAt: Date
  /** 1 at the first attempt. */
  readonly attempt: number
  /** The time from the due time of the job to now; null at a later attempt. As exact as the clocks. */
  readonly waitedMs: number | null
  /** Whether a SnoozeError snoozes the job. After six hours it is a failed attempt. */
  readonly canSnooze: boolean
  /** Aborts with a JobAbortedError. If the handler then rejects while the process closes, the job is released. */
  readonly signal: AbortSignal
}

/** Must be safe to run twice for one job: a lock can be lost while the handler runs. */
export type JobHandler<P> = (payload: P, context: JobContext) => Promise<void>

export type BullWorker = Worker<JsonObject, void, string, IQueueBackend, JobProgress, object>
type BullJob = Job<JsonObject, void>

interface ProcessorDeps {
  readonly handler: JobHandler<JsonObject>
  readonly jobs: RunningJobs
  readonly scrub: Scrub
  readonly log: Logger
  readonly clock: Clock
  readonly random: () => number
  readonly retryBackoff: BackoffPolicy
  /** Aborted when the worker stops taking jobs. */
  readonly closing: AbortSignal
}

/** A job may be snoozed for so long after its first due time. Then it fails, and becomes visible as dead. */
const SNOOZE_FOR_MS = 6 * 60 * 60 * 1000

/** Returns the function that BullMQ calls for each job. */
export function createProcessor(deps: ProcessorDeps) {
  const { handler, jobs, scrub, clock, closing } = deps
  return async (job: BullJob, token?: string): Promise<void> => {
    const dueAt = dueAtOf(job)
    const ageMs = clock.now().getTime() - dueAt.getTime()
    const canSnooze = ageMs < SNOOZE_FOR_MS
    const { signal, end } = jobs.begin(job.id ?? '')
    try {
      const attempt = job.attemptsMade + 1
      const context = { name: job.name, dueAt, attempt, waitedMs: waitedMs(job), canSnooze }
      await handler(job.data, { ...context, signal })
    } catch (thrown) {
      if (closing.aborted && signal.aborted) return await release(job, token)
      if (!(thrown instanceof SnoozeError)) throw toJobError(thrown, scrub)
      if (!canSnooze) throw toJobError(thrown.reason, scrub)
      return await snooze(deps, { job, token, thrown, ageMs })
    } finally {
      end()
    }
  }
}

/**
 * A snooze and a retry change when a job runs, not when it was due. The job of a scheduler has its due time itself: the
 * sum would differ by the milliseconds between two readings of the clock.
 */
export function dueAtOf({ timestamp, opts }: DatedJob): Date {
  return new Date(opts.prevMillis ?? timestamp + (opts.delay ?? 0))
}

interface DatedJob {
  readonly timestamp: number
  readonly opts: { readonly delay?: number; readonly prevMillis?: number }
}

interface Snooze {
  readonly job: BullJob
  readonly token: string | undefined
  readonly thrown: SnoozeError
  readonly ageMs: number
}

/** Delays a job without using up an attempt. */
async function snooze(deps: ProcessorDeps, { job, token, thrown, ageMs }: Snooze): Promise<never> {
  const { retryBackoff, random, log } = deps
  const before = job.attemptsStarted - job.attemptsMade - 1
  const waitMs = snoozeMs(thrown.waitMs, { before, ageMs, retryBackoff, random })
  // If this fails the lock expires, and the job is found as stalled. BullMQ computes with this process’s clock.
  await job.moveToDelayed(Date.now() + waitMs, token).catch(() => undefined)
  const { code, message } = thrown.reason
  log.info({ jobId: job.id, waitMs, code, reason: message }, 'job snoozed')
  throw new DelayedError()
}

/** The shortest snooze. A `Retry-After: 0` of the upstream does not permit calls without a pause. */
const MIN_WAIT_MS = 1_000

interface SnoozePace {
  /** How often the job was snoozed before. */
  readonly before: number
  /** The time since its first due time. */
  readonly ageMs: number
  readonly retryBackoff: BackoffPolicy
  readonly random: () => number
}

/**
 * How long a job is snoozed: the first time as long as the handler requested, later at least its backoff, and at most
 * the time that is left for it. The backoff keeps a handler that always requests one second from running every second.
 * @example snoozeMs(30_000, { before: 0, ageMs: 0, retryBackoff, random }) // 30_000
 */
export function snoozeMs(waitMs: number, pace: SnoozePace): number {
  const { before, ageMs, retryBackoff, random } = pace
  const paceMs = before > 0 ? backoffMs(retryBackoff, before - 1, random) : 0
  const wantedMs = Math.min(SNOOZE_FOR_MS - ageMs, Math.max(waitMs, paceMs))
  return Math.round(Math.max(MIN_WAIT_MS, wantedMs))
}

/** Null for a job that was started before: only the store knows when it became due again. */
function waitedMs(job: BullJob): number | null {
  const { attemptsStarted, processedOn } = job
  if (attemptsStarted > 1 || processedOn === undefined) return null
  return Math.max(0, processedOn - dueAtOf(job).getTime())
}

/** Returns a job to the queue without using up an attempt. */
async function release(job: BullJob, token?: string): Promise<never> {
  // If this fails the lock expires, and the job is found as stalled.
  await job.moveToWait(token).catch(() => undefined)
  throw new WaitingError()
}

/** The handlers that a worker runs. */
export interface RunningJobs {
  count(): number
  /** When the oldest running handler began; null if none runs. */
  busySince(): Date | null
  begin(jobId: string): { readonly signal: AbortSignal; end(): void }
  /** Aborts the handlers of these jobs; of all if none are named. */
  abort(reason: JobAbortedError, jobIds?: readonly string[]): void
}

export function createRunningJobs(clock: Clock): RunningJobs {
  // Not a map by id: a job whose lock was lost may begin a second time while its first handler still runs.
  const running = new Set<{ jobId: string; controller: AbortController; begunAt: Date }>()
  return {
    count: () => running.size,
    // A set keeps insertion order.
    busySince: () => running.values().next().value?.begunAt ?? null,
    begin: (jobId) => {
      const job = { jobId, controller: new AbortController(), begunAt: clock.now() }
      running.add(job)
      return { signal: job.controller.signal, end: () => void running.delete(job) }
    },
    abort: (reason, jobIds) => {
      for (const { jobId, controller } of running) {
        if (jobIds?.includes(jobId) ?? true) controller.abort(reason)
      }
    },
  }
}

/**
 * A handler throws it to run its job again after `waitMs` without using up an attempt.
 *
 * When the job may not be snoozed any more (`JobContext.canSnooze` is false), the attempt fails with `reason`.
 */
export class SnoozeError extends AppError {
  override readonly name = 'SnoozeError'
  override readonly code = 'queue.snoozed'
  override readonly retryable = true
  readonly waitMs: number
  readonly reason: AppError

  constructor(waitMs: number, reason: AppError) {
    super(`snoozed for ${waitMs} ms: ${reason.message}`, { cause: reason })
    this.waitMs = waitMs
    this.reason = reason
  }
}
