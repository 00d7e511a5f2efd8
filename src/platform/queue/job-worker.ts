import { setTimeout as delay } from 'node:timers/promises'
import { type IQueueBackend, Worker } from 'bullmq'
import {
  type BackoffPolicy,
  backoffMs,
  type Clock,
  endsWithin,
  withTimeout,
} from '../base/clock.ts'
import { AppError } from '../base/errors.ts'
import type { Logger } from '../base/logger.ts'
import {
  type BullWorker,
  createProcessor,
  createRunningJobs,
  type JobHandler,
  type RunningJobs,
} from './job-processor.ts'
import {
  type JsonObject,
  KEY_PREFIX,
  type QueueContext,
  repeatStrategy,
  storeFactory,
} from './queue-connection.ts'
import {
  failureFields,
  isRefusal,
  isStoreUnavailable,
  JobAbortedError,
  toUnavailableError,
} from './queue-errors.ts'

export interface WorkerHandle {
  /** The progress of the worker. BullMQ's `isRunning()` stays true for a worker that does nothing. */
  progress(): WorkerProgress
  /** Lets jobs finish, aborts the rest and closes the connections, all within `graceMs`. Never rejects. */
  close(graceMs: number): Promise<void>
}

interface WorkerProgress {
  /** When the store last answered a poll, took an outcome or renewed a lock. */
  readonly lastActivityAt: Date
  readonly activeJobs: number
  /** When the oldest running handler began; null if none runs. The lock of a handler that hangs is still renewed. */
  readonly busySince: Date | null
}

export interface WorkOptions {
  /** How many jobs run at a time. */
  readonly concurrency?: number
  /** A job whose lock was not renewed for this time may run in another worker. */
  readonly lockMs?: number
  /** How often stalled jobs are searched. One search marks them, the next one queues them again. */
  readonly stalledCheckMs?: number
  readonly retryBackoff?: BackoffPolicy
  /** Called for each stalled job: its worker no longer renews the lock. */
  readonly onStalled?: () => void
}

const DEFAULTS: Required<WorkOptions> = {
  concurrency: 1,
  lockMs: 30_000,
  stalledCheckMs: 15_000,
  retryBackoff: { baseMs: 2_000, maxMs: 60_000 },
  onStalled: () => undefined,
}

interface WorkerSpec {
  readonly queue: string
  readonly handler: JobHandler<JsonObject>
  readonly errors: WorkerErrors
}

/** Shares of the grace time: first jobs may finish, then they are aborted. The rest is for closing connections. */
const FINISH_SHARE = 0.6
const ABORT_SHARE = 0.3
const RETRY_MS = 1_000

/**
 * Starts a worker that continues through outages of its store. One that stops for good shows in its progress, and
 * liveness ends its process.
 *
 * It runs only after it has connected: BullMQ keeps the failure of a first connect. Throws QueueUnavailableError then.
 */
export async function startWorker(
  context: QueueContext,
  spec: WorkerSpec,
  given: WorkOptions,
): Promise<WorkerHandle> {
  const { clock, connection, scrub, timings } = context
  const log = context.log.child({ queue: spec.queue })
  const jobs = createRunningJobs(clock)
  const closing = new AbortController()
  let lastActivityAt = clock.now()
  const onAnswer = () => {
    lastActivityAt = clock.now()
    spec.errors.recordAnswer()
  }
  const parts = { ...spec, ...DEFAULTS, ...given, jobs, onAnswer, closing: closing.signal }
  const worker = createWorker({ ...context, log }, parts)
  try {
    await withTimeout(worker.waitUntilReady(), timings.deadlineMs)
  } catch (err) {
    worker.close(true).catch(() => undefined)
    throw toUnavailableError(connection, err, scrub)
  }
  worker.run().catch((err) => log.error({ err }, 'poll loop of a queue worker failed'))
  return {
    progress: () => ({ lastActivityAt, activeJobs: jobs.count(), busySince: jobs.busySince() }),
    close: (graceMs) => {
      closing.abort()
      return closeWorker(worker, { jobs, log, clock, graceMs })
    },
  }
}

interface WorkerParts extends WorkerSpec, Required<WorkOptions> {
  readonly jobs: RunningJobs
  readonly onAnswer: () => void
  readonly closing: AbortSignal
}

function createWorker(context: QueueContext, parts: WorkerParts): BullWorker {
  const { connection, log, timings } = context
  const { queue, errors, onAnswer } = parts
  const onError = (err: unknown) => errors.record(queue, err)
  const connect = storeFactory(connection, null)
  const worker: BullWorker = new Worker(
    queue,
    createProcessor({ ...context, ...parts }),
    workerOptions(context, parts),
    (...args) => watchCalls(connect(...args), { onAnswer, onError, pollMs: timings.pollMs }),
  )
  worker.on('error', onError)
  listenToWorker(worker, log, parts)
  return worker
}

function workerOptions({ random, timings }: QueueContext, parts: Required<WorkOptions>) {
  return {
    connection: {},
    prefix: KEY_PREFIX,
    autorun: false,
    concurrency: parts.concurrency,
    lockDuration: parts.lockMs,
    stalledInterval: parts.stalledCheckMs,
    maxStalledCount: 3,
    drainDelay: timings.pollMs / 1000,
    runRetryDelay: RETRY_MS,
    settings: {
      repeatStrategy,
      backoffStrategy: (attemptsMade: number) =>
        backoffMs(parts.retryBackoff, attemptsMade - 1, random),
    },
  }
}

interface CallWatch {
  readonly onAnswer: () => void
  readonly onError: (err: unknown) => void
  readonly pollMs: number
}

/**
 * Reports the calls of a worker's backend, and makes BullMQ pause and retry after each that fails.
 *
 * BullMQ does so only after an error that it knows as a lost connection. After any other it records a job that
 * succeeded as failed, and polls again without a pause. So every error but a refusal becomes one.
 *
 * A wait for a job that fails ends in a poll. BullMQ would only wait again, without end on a LISTEN that is half open.
 *
 * The return of a poll is the only sign of life of an idle worker. On Postgres BullMQ may wait for an hour.
 */
function watchCalls(backend: IQueueBackend, { onAnswer, onError, pollMs }: CallWatch) {
  const watched =
    <Args extends unknown[], T>(call: (...args: Args) => Promise<T>) =>
    async (...args: Args): Promise<T> => {
      try {
        const answer = await call.apply(backend, args)
        onAnswer()
        return answer
      } catch (err) {
        if (isRefusal(err)) throw err
        onError(err)
        throw new Error('Connection is closed.', { cause: err })
      }
    }
  backend.moveToActive = watched(backend.moveToActive)
  backend.moveToCompleted = watched(backend.moveToCompleted)
  backend.moveToFailed = watched(backend.moveToFailed)
  backend.extendLocks = watched(backend.extendLocks)
  const wait = backend.waitForJob
  backend.waitForJob = async (seconds) => {
    try {
      return await wait.call(backend, seconds)
    } catch (err) {
      onError(err)
      return delay(RETRY_MS, null)
    }
  }
  Object.defineProperty(backend, 'maximumBlockTimeout', { value: pollMs / 1000 })
  return backend
}

function listenToWorker(worker: BullWorker, log: Logger, { jobs, onStalled }: WorkerParts): void {
  worker.on('stalled', (jobId) => {
    onStalled()
    log.warn({ jobId }, 'job stalled and runs again')
  })
  worker.on('lockRenewalFailed', (jobIds) => {
    const reason = 'the lock of the job is lost: another worker may run it'
    jobs.abort(new JobAbortedError(reason), jobIds)
  })
  worker.on('failed', (job, err) => {
    const thrown = err.cause ?? err
    const fields = { jobId: job?.id, attempt: job?.attemptsMade, ...failureFields(thrown) }
    if (job?.finishedOn !== undefined) log.error(fields, 'job failed')
    // An expected failure is logged by its feature, for example as a failed sync. The job is retried.
    else log[thrown instanceof AppError ? 'info' : 'warn'](fields, 'job attempt failed')
  })
}

interface CloseArgs {
  readonly jobs: RunningJobs
  readonly log: Logger
  readonly clock: Clock
  readonly graceMs: number
}

async function closeWorker(worker: BullWorker, { jobs, log, clock, graceMs }: CloseArgs) {
  const endsAt = clock.now().getTime() + graceMs
  // It waits for jobs and their outcomes. A worker that closes would not retry to record one.
  const paused = worker.pause()
  let isDone = await endsWithin(paused, graceMs * FINISH_SHARE)
  if (!isDone) {
    jobs.abort(new JobAbortedError('the process closes'))
    isDone = await endsWithin(paused, graceMs * ABORT_SHARE)
  }
  if (!isDone) {
    const unfinished = { jobs: jobs.count() }
    log.warn(unfinished, 'queue worker closed with unfinished jobs, which run again elsewhere')
  }
  await endsWithin(worker.close(!isDone), endsAt - clock.now().getTime())
}

/** Logs the errors of all workers of a process: when they begin, and when they are over. */
interface WorkerErrors {
  record(queue: string, err: unknown): void
  /** Records that the store has answered a worker. Cheap, and meant to be called often. */
  recordAnswer(): void
}

interface Trouble {
  readonly sinceMs: number
  lastMs: number
  errors: number
}

/** An error that comes and goes within this time is one. */
const CALM_MS = 60_000

/** A store that is down makes each worker fail again and again. It is one trouble for all; others are by queue. */
export function createWorkerErrors(log: Logger, clock: Clock): WorkerErrors {
  const open = new Map<string | undefined, Trouble>()
  const now = () => clock.now().getTime()
  return {
    record(failing, err) {
      const queue = isStoreUnavailable(err) ? undefined : failing
      const trouble = open.get(queue) ?? { sinceMs: now(), lastMs: 0, errors: 0 }
      trouble.lastMs = now()
      trouble.errors += 1
      open.set(queue, trouble)
      if (trouble.errors === 1) log.warn({ queue, ...failureFields(err) }, 'queue worker error')
    },
    recordAnswer() {
      for (const [queue, { sinceMs, lastMs, errors }] of open) {
        if (now() - lastMs < CALM_MS) continue
        open.delete(queue)
        log.info({ queue, lastedMs: lastMs - sinceMs, errors }, 'queue worker error is over')
      }
    },
  }
}
