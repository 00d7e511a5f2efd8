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
import { failureFields } from './failure-fields.ts'
import { toJobError } from './job-errors.ts'
import type { JsonObject } from './job-payload.ts'
import { canBePutOff, type PutOffLimits, putOffMs, type RunningJob } from './put-off.ts'
import { JobAbortedError, NotNowError } from './queue-errors.ts'
import type { RunningJobs } from './running-jobs.ts'

export interface JobContext {
  readonly jobId: string
  /** 1 at the first attempt. */
  readonly attempt: number
  /** From the moment at which it was to run until now; null at a later attempt. Bounded by the clocks' skew. */
  readonly waitedMs: number | null
  /** Whether a NotNowError puts its job off: it does not for ever, and is a failed attempt then. */
  readonly canBePutOff: boolean
  /** Aborts with a JobAbortedError. A handler that then rejects while the process closes gives its job back. */
  readonly signal: AbortSignal
}

/** Must be safe to run twice for one job: a lock can be lost while its handler runs. */
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
  readonly limits: PutOffLimits
  /** Aborted when the worker takes no more jobs. */
  readonly closing: AbortSignal
}

/** What BullMQ calls for each job. */
export function createProcessor(deps: ProcessorDeps) {
  const { handler, jobs, scrub, limits, closing } = deps
  return async (job: BullJob, token?: string): Promise<void> => {
    if (closing.aborted) return release(job, token)
    const jobId = job.id ?? ''
    const attempt = job.attemptsMade + 1
    const mayWait = canBePutOff(runningJob(deps, job), limits)
    const { signal, end } = jobs.begin(jobId)
    try {
      const context = { jobId, attempt, waitedMs: waitedMs(job), canBePutOff: mayWait, signal }
      await handler(job.data, context)
    } catch (thrown) {
      if (closing.aborted && signal.aborted) return await release(job, token)
      if (!(thrown instanceof NotNowError)) throw toJobError(thrown, scrub)
      if (!mayWait) throw toJobError(thrown.reason, scrub)
      return await putOff(deps, { job, token, thrown })
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

/** Lays a job aside for a while, and says so: no attempt is burnt. */
async function putOff(
  deps: ProcessorDeps,
  { job, token, thrown }: { job: BullJob; token: string | undefined; thrown: NotNowError },
): Promise<never> {
  const { limits, random, log } = deps
  const waitMs = putOffMs(runningJob(deps, job), { waitMs: thrown.waitMs, limits, random })
  // Where this fails the lock runs out, and the job is found as stalled. BullMQ counts from its own clock.
  await job.moveToDelayed(Date.now() + waitMs, token).catch(() => undefined)
  const { code, message } = thrown.reason
  log.info({ jobId: job.id, waitMs, code, reason: message }, 'job put off')
  throw new DelayedError()
}

/** Of a job that was begun before, only the store knows since when it was to run again. */
function waitedMs({ attemptsStarted, processedOn, timestamp, opts }: BullJob): number | null {
  if (attemptsStarted > 1 || processedOn === undefined) return null
  return Math.max(0, processedOn - timestamp - (opts.delay ?? 0))
}

/** Gives a job back: another worker may have it now, and no attempt is burnt. */
async function release(job: BullJob, token?: string): Promise<never> {
  // Where this fails the lock runs out, and the job is found as stalled.
  await job.moveToWait(token).catch(() => undefined)
  throw new WaitingError()
}

export interface EventDeps {
  readonly jobs: RunningJobs
  readonly log: Logger
  /** An error of the worker itself, as while its store is away. */
  readonly onError: (err: unknown) => void
  /** The worker's connection broke. */
  readonly onTrouble: (err: unknown) => void
  readonly onStalled: () => void
}

/** Turns BullMQ's events into progress, aborts and log lines. Its `error` must have a listener. */
export function watchEvents(
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
    log.warn({ jobId }, 'job stalled, it runs again')
  })
  worker.on('lockRenewalFailed', (jobIds) => {
    jobs.abort(jobIds, new JobAbortedError('the lock is lost: another worker may have the job'))
  })
  worker.on('failed', (job, err) => {
    const thrown = err.cause ?? err
    const fields = { jobId: job?.id, attempt: job?.attemptsMade, ...failureFields(thrown) }
    if (job?.finishedOn !== undefined) log.error(fields, 'job failed')
    // What we expect has told of itself where it matters, as a sync does; it is tried again.
    else log[thrown instanceof AppError ? 'info' : 'warn'](fields, 'job attempt failed')
  })
}
