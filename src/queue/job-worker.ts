import { Worker } from 'bullmq'
import { type BackoffPolicy, backoffMs } from '../base/backoff.ts'
import type { Logger } from '../base/logger.ts'
import { endsWithin, withTimeout } from '../base/timeout.ts'
import type { JsonObject } from './job-payload.ts'
import { type BullWorker, createProcessor, type JobHandler, watchEvents } from './job-processor.ts'
import { observeBackend } from './observed-backend.ts'
import { type StoreFactory, storeFactory } from './queue-connection.ts'
import type { QueueContext } from './queue-context.ts'
import { JobAbortedError, unavailable } from './queue-errors.ts'
import { createRunningJobs, type RunningJobs } from './running-jobs.ts'
import type { WorkerErrors } from './throttled-log.ts'

export interface WorkerSettings {
  readonly concurrency: number
  readonly lockMs: number
  readonly stalledCheckMs: number
  readonly maxStartedAttempts: number
  readonly putOffForMs: number
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

/** Parts of the grace time: jobs may finish, then they are aborted, then the connections are cut. */
const FINISH_SHARE = 0.6
const ABORT_SHARE = 0.3

/** One BullMQ worker, from its first connect to its end. It is never repaired, only replaced. */
export class JobWorker {
  readonly jobs: RunningJobs
  readonly #context: QueueContext
  readonly #log: Logger
  readonly #worker: BullWorker
  readonly #closing = new AbortController()
  readonly #stopped = new AbortController()
  #ended = false

  /** Resolves when the worker is connected and runs; QueueUnavailableError when that misses the deadline. */
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
    const onError = (err: unknown) => errors.note(queue, err)
    const { onStalled } = settings
    watchEvents(this.#worker, { jobs: this.jobs, log: this.#log, onError, onTrouble, onStalled })
  }

  /** Its loop is over, which happens only when it is closed or broken. */
  get hasEnded(): boolean {
    return this.#ended
  }

  /** Lets jobs finish, aborts them, and cuts the connections, all within `graceMs`. Never rejects. */
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
      'queue worker cut off, its jobs run again elsewhere',
    )
    await endsWithin(this.#cut(), leftMs())
  }

  /** Lets go at once: handlers are aborted, and their jobs run elsewhere when their locks end. */
  abandon(): void {
    this.#stopped.abort()
    this.jobs.abortAll(new JobAbortedError('the worker lost its store'))
    this.#cut().catch(() => undefined)
  }

  /** Only a worker whose connections stand may run: BullMQ spins, or waits for ever, on one that failed. */
  async #connect(): Promise<void> {
    const { connection, scrub, timings } = this.#context
    try {
      await withTimeout(this.#worker.waitUntilReady(), timings.deadlineMs)
    } catch (err) {
      this.abandon()
      throw unavailable(connection, err, scrub)
    }
    this.jobs.touch()
  }

  #run(): void {
    this.#worker
      .run()
      .catch((err) => this.#log.error({ err }, 'queue worker broke'))
      .finally(() => {
        this.#ended = true
      })
  }

  /** The order matters on Postgres: a wait that is woken before the connection closes would claim a job. */
  async #cut(): Promise<void> {
    const backend = this.#worker.getBackend()
    const ends = [this.#worker.close(true), backend.close(true)]
    await Promise.allSettled([...ends, backend.disconnectBlocking(false)])
  }

  #backendFactory(errors: WorkerErrors): StoreFactory {
    const { clock, connection, timings } = this.#context
    const connect = storeFactory(connection, null)
    const onPoll = () => {
      this.jobs.touch()
      errors.answered()
    }
    const watch = { onPoll, pollMs: timings.pollMs, clock }
    return (name, opts, roles) =>
      observeBackend(connect(name, opts, roles), { ...watch, signal: this.#stopped.signal })
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
