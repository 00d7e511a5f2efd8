import { Worker } from 'bullmq'
import { type BackoffPolicy, backoffMs } from '../base/backoff.ts'
import type { Logger } from '../base/logger.ts'
import { endsWithin, withTimeout } from '../base/timeout.ts'
import type { JsonObject } from './job-payload.ts'
import {
  type BullWorker,
  createProcessor,
  type JobHandler,
  listenToWorker,
} from './job-processor.ts'
import { type QueueContext, type StoreFactory, storeFactory } from './queue-connection.ts'
import { JobAbortedError, toUnavailableError } from './queue-errors.ts'
import { makeResilient } from './resilient-backend.ts'
import { createRunningJobs, type RunningJobs } from './running-jobs.ts'
import type { WorkerErrors } from './worker-errors.ts'

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

function workerOptions({ prefix, random, timings }: QueueContext, settings: WorkerSettings) {
  return {
    connection: {},
    prefix,
    autorun: false,
    concurrency: settings.concurrency,
    lockDuration: settings.lockMs,
    stalledInterval: settings.stalledCheckMs,
    maxStalledCount: 3,
    maxStartedAttempts: settings.maxStartedAttempts,
    drainDelay: timings.pollMs / 1000,
    runRetryDelay: 1_000,
    settings: {
      backoffStrategy: (attemptsMade: number) =>
        backoffMs(settings.retryBackoff, attemptsMade - 1, random),
    },
  }
}
