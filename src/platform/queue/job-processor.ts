import {
  DelayedError,
  type IQueueBackend,
  type Job,
  type JobProgress,
  WaitingError,
  type Worker,
} from 'bullmq'
import type { Clock } from '../base/clock.ts'
import { AppError } from '../base/errors.ts'
import type { Logger } from '../base/logger.ts'
import type { Scrub } from '../base/secrets.ts'
import { failureFields, toJobError } from './job-errors.ts'
import type { JsonObject } from './job-payload.ts'
import { JobAbortedError } from './queue-errors.ts'
import type { RunningJobs } from './running-jobs.ts'
import { canSnooze, type RunningJob, SnoozeError, type SnoozeLimits, snoozeMs } from './snooze.ts'

export interface JobContext {
  readonly jobId: string
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
      const context = { jobId, attempt, waitedMs: waitedMs(job), canSnooze: snoozable, signal }
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
  const dueAtMs = job.timestamp + (opts.delay ?? 0)
  return {
    ageMs: clock.now().getTime() - dueAtMs,
    attempts: { allowed: opts.attempts ?? 1, made, started },
  }
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
function waitedMs({ attemptsStarted, processedOn, timestamp, opts }: BullJob): number | null {
  if (attemptsStarted > 1 || processedOn === undefined) return null
  return Math.max(0, processedOn - timestamp - (opts.delay ?? 0))
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
  const backend = worker.getBackend()
  backend.on('error', onTrouble)
  backend.on('close', () => {
    if (backend.closing === undefined) onTrouble(new Error('connection closed'))
  })
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
