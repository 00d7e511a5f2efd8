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
import { type JsonObject, listenForTrouble } from './queue-connection.ts'
import { failureFields, JobAbortedError, toJobError } from './queue-errors.ts'

export interface JobContext {
  readonly jobId: string
  /** The name of its scheduler; of any other job the name of its queue. */
  readonly name: string
  /** When it was due first, by the clock of the process that made it. */
  readonly dueAt: Date
  /** 1 at the first attempt. */
  readonly attempt: number
  /** The time from the due time of the job to now; null at a later attempt. As exact as the clocks. */
  readonly waitedMs: number | null
  /** Whether a SnoozeError snoozes the job. After a limit it is a failed attempt. */
  readonly canSnooze: boolean
  /** Aborts with a JobAbortedError. If the handler then rejects while the process closes, the job is released. */
  readonly signal: AbortSignal
}

/** Must be safe to run twice for one job: a lock can be lost while the handler runs. */
export type JobHandler<P> = (payload: P, context: JobContext) => Promise<void>

export type BullWorker = Worker<JsonObject, void, string, IQueueBackend, JobProgress, object>
type BullJob = Job<JsonObject, void>

export interface ProcessorDeps {
  readonly handler: JobHandler<JsonObject>
  readonly jobs: RunningJobs
  readonly scrub: Scrub
  readonly log: Logger
  readonly clock: Clock
  readonly random: () => number
  readonly limits: SnoozeLimits
  /** Aborted when the worker stops taking jobs. */
  readonly closing: AbortSignal
}

/** Returns the function that BullMQ calls for each job. */
export function createProcessor(deps: ProcessorDeps) {
  const { handler, jobs, scrub, limits, closing } = deps
  return async (job: BullJob, token?: string): Promise<void> => {
    if (closing.aborted) return release(job, token)
    const jobId = job.id ?? ''
    const attempt = job.attemptsMade + 1
    const snoozable = canSnooze(runningJob(deps, job), limits)
    const { signal, end } = jobs.begin(jobId)
    try {
      const context = {
        jobId,
        name: job.name,
        dueAt: dueAtOf(job),
        attempt,
        waitedMs: waitedMs(job),
        canSnooze: snoozable,
        signal,
      }
      await handler(job.data, context)
    } catch (thrown) {
      if (closing.aborted && signal.aborted) return await release(job, token)
      if (!(thrown instanceof SnoozeError)) throw toJobError(thrown, scrub)
      if (!snoozable) throw toJobError(thrown.reason, scrub)
      return await snooze(deps, { job, token, thrown })
    } finally {
      end()
    }
  }
}

function runningJob({ clock }: ProcessorDeps, job: BullJob): RunningJob {
  const { attemptsMade: made, attemptsStarted: started, opts } = job
  return {
    ageMs: clock.now().getTime() - dueAtOf(job).getTime(),
    attempts: { allowed: opts.attempts ?? 1, made, started },
  }
}

/** A snooze and a retry change when a job runs, not when it was due. */
export function dueAtOf({ timestamp, opts }: Pick<BullJob, 'timestamp' | 'opts'>): Date {
  return new Date(timestamp + (opts.delay ?? 0))
}

/** Delays a job without using up an attempt. */
async function snooze(
  deps: ProcessorDeps,
  { job, token, thrown }: { job: BullJob; token: string | undefined; thrown: SnoozeError },
): Promise<never> {
  const { limits, random, log } = deps
  const waitMs = snoozeMs(runningJob(deps, job), { waitMs: thrown.waitMs, limits, random })
  // If this fails the lock expires, and the job is found as stalled. BullMQ computes with this process’s clock.
  await job.moveToDelayed(Date.now() + waitMs, token).catch(() => undefined)
  const { code, message } = thrown.reason
  log.info({ jobId: job.id, waitMs, code, reason: message }, 'job snoozed')
  throw new DelayedError()
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

export interface EventDeps {
  readonly jobs: RunningJobs
  readonly log: Logger
  /** An error of the worker itself, for example while its store is down. */
  readonly onError: (err: unknown) => void
  /** The worker's connection broke. */
  readonly onTrouble: (err: unknown) => void
  readonly onStalled: () => void
}

/** Turns BullMQ's events into activity, aborts and log lines. Its `error` event must have a listener. */
export function listenToWorker(
  worker: BullWorker,
  { jobs, log, onError, onTrouble, onStalled }: EventDeps,
): void {
  worker.on('error', onError)
  listenForTrouble(worker.getBackend(), onTrouble)
  for (const event of ['active', 'completed', 'failed', 'locksRenewed'] as const) {
    worker.on(event, jobs.touch)
  }
  worker.on('stalled', (jobId) => {
    onStalled()
    log.warn({ jobId }, 'job stalled and runs again')
  })
  worker.on('lockRenewalFailed', (jobIds) => {
    jobs.abort(
      jobIds,
      new JobAbortedError('the lock of the job is lost: another worker may run it'),
    )
  })
  worker.on('failed', (job, err) => {
    const thrown = err.cause ?? err
    const fields = { jobId: job?.id, attempt: job?.attemptsMade, ...failureFields(thrown) }
    if (job?.finishedOn !== undefined) log.error(fields, 'job failed')
    // An expected failure is logged by its feature, for example as a failed sync. The job is retried.
    else log[thrown instanceof AppError ? 'info' : 'warn'](fields, 'job attempt failed')
  })
}

/** The handlers that a worker runs, and the time of its last activity. Liveness checks use both. */
export interface RunningJobs {
  /** Records activity: a poll returned, a job began or ended, or a lock was renewed. */
  touch(): void
  lastActivityAt(): Date
  count(): number
  /** When the oldest running handler began; null if none runs. */
  busySince(): Date | null
  begin(jobId: string): { readonly signal: AbortSignal; end(): void }
  abort(jobIds: readonly string[], reason: Error): void
  abortAll(reason: Error): void
  /** Resolves when no handler runs. */
  idle(): Promise<void>
}

export function createRunningJobs(now: () => Date): RunningJobs {
  // Not a map by id: a job whose lock was lost may begin a second time while its first handler still runs.
  const running = new Set<{ jobId: string; controller: AbortController; begunAt: Date }>()
  let lastActivityAt = now()
  let waiting: (() => void)[] = []

  function resolveWhenIdle(): void {
    if (running.size > 0) return
    for (const resolve of waiting) resolve()
    waiting = []
  }

  return {
    touch: () => {
      lastActivityAt = now()
    },
    lastActivityAt: () => lastActivityAt,
    count: () => running.size,
    // A set keeps insertion order.
    busySince: () => running.values().next().value?.begunAt ?? null,
    begin: (jobId) => {
      const job = { jobId, controller: new AbortController(), begunAt: now() }
      running.add(job)
      const end = () => {
        running.delete(job)
        resolveWhenIdle()
      }
      return { signal: job.controller.signal, end }
    },
    abort: (jobIds, reason) => {
      for (const job of running) if (jobIds.includes(job.jobId)) job.controller.abort(reason)
    },
    abortAll: (reason) => {
      for (const job of running) job.controller.abort(reason)
    },
    idle: () => {
      const { promise, resolve } = Promise.withResolvers<void>()
      waiting.push(resolve)
      resolveWhenIdle()
      return promise
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

/** The shortest snooze. A `Retry-After: 0` of the upstream does not permit calls without a pause. */
const MIN_WAIT_MS = 1_000

export interface SnoozeLimits {
  /** How long after its first due time a job may be snoozed. */
  readonly snoozeForMs: number
  /** How often a job may be started in all. Snoozes, stalls and failures count. */
  readonly maxStartedAttempts: number
  readonly retryBackoff: BackoffPolicy
}

export interface RunningJob {
  /** The time since its first due time. */
  readonly ageMs: number
  readonly attempts: { readonly allowed: number; readonly made: number; readonly started: number }
}

/**
 * Whether a job may be snoozed once more. The time is limited, and each attempt that is left must keep a start. A job
 * that is always snoozed therefore fails in the end and becomes visible as dead.
 */
export function canSnooze({ ageMs, attempts }: RunningJob, limits: SnoozeLimits): boolean {
  const attemptsLeft = attempts.allowed - attempts.made
  const startsLeft = limits.maxStartedAttempts - attempts.started
  return ageMs < limits.snoozeForMs && startsLeft >= attemptsLeft
}

/**
 * How long a job is snoozed: the first time as long as the handler requested, later at least its backoff, and at most
 * the time that is left for it. The backoff keeps a handler that always requests one second from running every second.
 * @example snoozeMs(job, { waitMs: 30_000, limits, random }) // 30_000
 */
export function snoozeMs(
  { ageMs, attempts }: RunningJob,
  { waitMs, limits, random }: { waitMs: number; limits: SnoozeLimits; random: () => number },
): number {
  const earlier = attempts.started - attempts.made - 1
  const paceMs = earlier > 0 ? backoffMs(limits.retryBackoff, earlier - 1, random) : 0
  const leftMs = limits.snoozeForMs - ageMs
  return Math.round(Math.max(MIN_WAIT_MS, Math.min(leftMs, Math.max(waitMs, paceMs))))
}
