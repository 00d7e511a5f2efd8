import { type IQueueBackend, Worker } from 'bullmq'
import {
  type BackoffPolicy,
  backoffMs,
  type Clock,
  endsWithin,
  withTimeout,
} from '../base/clock.ts'
import type { Logger } from '../base/logger.ts'
import {
  type BullWorker,
  createProcessor,
  createRunningJobs,
  type JobHandler,
  listenToWorker,
  type RunningJobs,
} from './job-processor.ts'
import {
  type JsonObject,
  KEY_PREFIX,
  type QueueContext,
  repeatStrategy,
  type StoreFactory,
  storeFactory,
} from './queue-connection.ts'
import { isRefusal, JobAbortedError, toUnavailableError } from './queue-errors.ts'
import type { WorkerErrors } from './store-monitor.ts'

export interface WorkerSettings {
  readonly concurrency: number
  readonly lockMs: number
  readonly stalledCheckMs: number
  readonly maxStartedAttempts: number
  readonly snoozeForMs: number
  readonly retryBackoff: BackoffPolicy
  readonly onStalled: () => void
}

export interface JobWorkerSpec {
  readonly queue: string
  readonly handler: JobHandler<JsonObject>
  readonly settings: WorkerSettings
  /** The worker's connection broke. */
  readonly onTrouble: (err: unknown) => void
  readonly errors: WorkerErrors
}

/** Shares of the grace time: first jobs may finish, then they are aborted. The rest is for closing connections. */
const FINISH_SHARE = 0.6
const ABORT_SHARE = 0.3

/** One BullMQ worker, from its first connect to its end. A broken worker is replaced, not repaired. */
export class JobWorker {
  readonly jobs: RunningJobs
  readonly #context: QueueContext
  readonly #log: Logger
  readonly #worker: BullWorker
  readonly #closing = new AbortController()
  readonly #stopped = new AbortController()
  #ended = false

  /** Resolves when the worker is connected and runs. Throws QueueUnavailableError if it does not connect in time. */
  static async start(context: QueueContext, spec: JobWorkerSpec): Promise<JobWorker> {
    const self = new JobWorker(context, spec)
    await self.#connect()
    self.#run()
    return self
  }

  private constructor(context: QueueContext, spec: JobWorkerSpec) {
    const { clock, random, scrub } = context
    const { queue, handler, settings, onTrouble, errors } = spec
    this.#context = context
    this.#log = context.log.child({ queue })
    this.jobs = createRunningJobs(() => clock.now())
    const closing = this.#closing.signal
    this.#worker = new Worker(
      queue,
      createProcessor({
        handler,
        jobs: this.jobs,
        scrub,
        log: this.#log,
        clock,
        random,
        limits: settings,
        closing,
      }),
      workerOptions(context, settings),
      this.#backendFactory(errors),
    )
    const onError = (err: unknown) => errors.record(queue, err)
    const { onStalled } = settings
    listenToWorker(this.#worker, { jobs: this.jobs, log: this.#log, onError, onTrouble, onStalled })
  }

  /** Whether its poll loop has ended, because it was closed or failed. */
  get hasEnded(): boolean {
    return this.#ended
  }

  /** Lets jobs finish, aborts the rest and closes the connections, all within `graceMs`. Never rejects. */
  async close(graceMs: number): Promise<void> {
    const { clock } = this.#context
    const endsAt = clock.now().getTime() + graceMs
    const leftMs = () => endsAt - clock.now().getTime()
    this.#closing.abort()
    await this.#worker.pause(true)
    if (!(await endsWithin(this.jobs.idle(), graceMs * FINISH_SHARE))) {
      this.jobs.abortAll(new JobAbortedError('the process closes'))
      await endsWithin(this.jobs.idle(), graceMs * ABORT_SHARE)
    }
    const closed = this.jobs.count() === 0 && (await endsWithin(this.#worker.close(), leftMs() / 2))
    this.#stopped.abort()
    if (closed) return
    this.#log.warn(
      { jobs: this.jobs.count() },
      'queue worker closed with unfinished jobs, which run again elsewhere',
    )
    await endsWithin(this.#disconnect(), leftMs())
  }

  /** Closes without waiting: handlers are aborted, and their jobs run elsewhere when their locks expire. */
  abandon(): void {
    this.#stopped.abort()
    this.jobs.abortAll(new JobAbortedError('the worker lost its connection'))
    this.#disconnect().catch(() => undefined)
  }

  /** A worker may run only after it has connected: on a failed connection BullMQ spins or waits without end. */
  async #connect(): Promise<void> {
    const { connection, scrub, timings } = this.#context
    try {
      await withTimeout(this.#worker.waitUntilReady(), timings.deadlineMs)
    } catch (err) {
      this.abandon()
      throw toUnavailableError(connection, err, scrub)
    }
    this.jobs.touch()
  }

  #run(): void {
    this.#worker
      .run()
      .catch((err) => this.#log.error({ err }, 'poll loop of a queue worker failed'))
      .finally(() => {
        this.#ended = true
      })
  }

  /** The order matters on Postgres: a blocking wait that ends before its connection closes would claim a job. */
  async #disconnect(): Promise<void> {
    const backend = this.#worker.getBackend()
    const ends = [this.#worker.close(true), backend.close(true)]
    await Promise.allSettled([...ends, backend.disconnectBlocking(false)])
  }

  #backendFactory(errors: WorkerErrors): StoreFactory {
    const { clock, connection, timings } = this.#context
    const connect = storeFactory(connection, null)
    const onPoll = () => {
      this.jobs.touch()
      errors.recordAnswer()
    }
    const options = { onPoll, pollMs: timings.pollMs, clock, signal: this.#stopped.signal }
    return (name, opts, roles) => makeResilient(connect(name, opts, roles), options)
  }
}

function workerOptions({ random, timings }: QueueContext, settings: WorkerSettings) {
  return {
    connection: {},
    prefix: KEY_PREFIX,
    autorun: false,
    concurrency: settings.concurrency,
    lockDuration: settings.lockMs,
    stalledInterval: settings.stalledCheckMs,
    maxStalledCount: 3,
    maxStartedAttempts: settings.maxStartedAttempts,
    drainDelay: timings.pollMs / 1000,
    runRetryDelay: 1_000,
    settings: {
      repeatStrategy,
      backoffStrategy: (attemptsMade: number) =>
        backoffMs(settings.retryBackoff, attemptsMade - 1, random),
    },
  }
}

export interface ResilienceOptions {
  readonly onPoll: () => void
  /** The longest time between two polls of an idle worker. BullMQ itself would allow more. */
  readonly pollMs: number
  readonly clock: Clock
  readonly signal: AbortSignal
}

const PAUSE_AFTER_FAILURE_MS = 500
const OUTCOME_TRIES = 10

/**
 * Changes three behaviours of a worker's backend.
 *
 * - Polls are reported and frequent. `isRunning()` stays true for a worker that does nothing, and the only heartbeat of an
 *   idle queue is that `moveToActive` returns. BullMQ's Postgres worker may call it once an hour, when its next job is far
 *   off or its LISTEN connection has failed, so the wait is capped.
 * - A failed poll is followed by a pause. BullMQ polls again at once after most errors, which would be thousands of calls a
 *   second to a store that refuses.
 * - The record of a finished job is retried for about five seconds. BullMQ retries it only when the connection is refused;
 *   after a lost connection it would record a successful job as failed.
 */
export function makeResilient(backend: IQueueBackend, options: ResilienceOptions): IQueueBackend {
  const { onPoll, pollMs, clock, signal } = options
  const pause = () => clock.sleep(PAUSE_AFTER_FAILURE_MS, signal).catch(() => undefined)

  const poll = backend.moveToActive.bind(backend)
  backend.moveToActive = async (token, name) => {
    try {
      const polled = await poll(token, name)
      onPoll()
      return polled
    } catch (err) {
      await pause()
      throw err
    }
  }

  const record = async <T>(write: () => Promise<T>): Promise<T> => {
    for (let tries = 1; ; tries += 1) {
      try {
        return await write()
      } catch (err) {
        if (tries === OUTCOME_TRIES || signal.aborted || isRefusal(err)) throw err
        await pause()
      }
    }
  }
  const complete = backend.moveToCompleted.bind(backend)
  backend.moveToCompleted = (...args) => record(() => complete(...args))
  const fail = backend.moveToFailed.bind(backend)
  backend.moveToFailed = (...args) => record(() => fail(...args))
  const delay = backend.moveToDelayed.bind(backend)
  backend.moveToDelayed = (...args) => record(() => delay(...args))

  Object.defineProperty(backend, 'maximumBlockTimeout', { value: pollMs / 1000 })
  return backend
}
