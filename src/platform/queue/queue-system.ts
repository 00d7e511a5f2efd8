import { type Clock, systemClock } from '../base/clock.ts'
import type { JobState } from '../base/kinds.ts'
import type { Logger } from '../base/logger.ts'
import type { Scrub } from '../base/secrets.ts'
import { dropJob, listJobs, type QueuedJob, retryJob } from './inspect-jobs.ts'
import type { JobContext, JobHandler } from './job-processor.ts'
import {
  createWorkerErrors,
  startWorker,
  type WorkerHandle,
  type WorkOptions,
} from './job-worker.ts'
import {
  DEFAULT_TIMINGS,
  type JsonObject,
  type QueueConnection,
  type QueueContext,
  type QueueTimings,
} from './queue-connection.ts'
import {
  listSchedulers,
  reconcileSchedulers,
  type SavedScheduler,
  type Scheduler,
} from './schedulers.ts'
import {
  createStoreClient,
  type RedisFacts,
  readStoreFacts,
  type StoreClient,
  type StoreFacts,
} from './store-client.ts'

export type {
  JobContext,
  JobHandler,
  JobState,
  QueuedJob,
  RedisFacts,
  SavedScheduler,
  Scheduler,
  StoreFacts,
  WorkerHandle,
  WorkOptions,
}

export interface QueueSystemOptions {
  readonly connection: QueueConnection
  readonly log: Logger
  /** Masks known secrets in stored and logged errors. */
  readonly scrub: Scrub
  readonly timings?: QueueTimings
  readonly clock?: Clock
  readonly random?: () => number
}

export type JobCounts = Record<'waiting' | 'active' | 'delayed' | 'failed' | 'completed', number>

/**
 * The queue: jobs and workers on one store.
 *
 * Every call except `close` throws QueueUnavailableError if the store refuses or does not answer in time (5 s by
 * default). A call that timed out may still take effect.
 */
export interface QueueSystem {
  readonly kind: QueueConnection['kind']
  /** Reads the store's facts, and warns if its clock or its eviction policy endangers jobs. */
  start(): Promise<void>
  /** Runs the queue's jobs until closed, through outages of the store. */
  work<P>(queue: string, handler: JobHandler<P>, options?: WorkOptions): Promise<WorkerHandle>
  enqueue(queue: string, job: NewJob): Promise<void>
  /** Gives a queue exactly these job schedulers. Returns the names of those that were missing or different. */
  reconcile(queue: string, schedulers: readonly Scheduler[]): Promise<string[]>
  /** The job schedulers of a queue, by name. */
  schedulers(queue: string): Promise<SavedScheduler[]>
  counts(queue: string): Promise<JobCounts>
  /** Lists jobs of a state: ended jobs newest first, all others oldest first. */
  jobs(queue: string, state: JobState, limit: number): Promise<QueuedJob[]>
  /** Queues a dead job again with all its attempts. Returns false if no dead job has this id. */
  retryDead(queue: string, jobId: string): Promise<boolean>
  /** Deletes a dead job. Returns false if no dead job has this id. */
  dropDead(queue: string, jobId: string): Promise<boolean>
  facts(): Promise<StoreFacts>
  /** Closes all workers, then the connections, within `graceMs`. Never rejects. */
  close(options: { readonly graceMs: number }): Promise<void>
}

const MAX_SKEW_MS = 2_000
/** The workers' share of the grace time. The rest is for the client's connection. */
const WORKERS_SHARE = 0.9
/** An empty queue, for calls that concern the store itself. */
const OWN_QUEUE = 'queue-system'

/** Connects to nothing until the first call. */
export function createQueueSystem(options: QueueSystemOptions): QueueSystem {
  const context: QueueContext = {
    timings: DEFAULT_TIMINGS,
    clock: systemClock,
    random: Math.random,
    ...options,
  }
  const client = createStoreClient(context)
  const facts = () =>
    client.call(OWN_QUEUE, (queue) => readStoreFacts(queue.getBackend(), context.clock))
  const errors = createWorkerErrors(context.log, context.clock)
  const workers = new Set<WorkerHandle>()
  let closed = false

  return {
    kind: context.connection.kind,
    start: async () => warnOfDangers(await facts(), context.log),
    facts,
    ...callsOf(client, context.clock),

    async work<P>(queue: string, handler: JobHandler<P>, options: WorkOptions = {}) {
      const spec = { queue, handler: handler as JobHandler<unknown>, errors }
      const worker = await startWorker(context, spec, options)
      workers.add(worker)
      if (closed) await worker.close(0)
      return worker
    },

    async close({ graceMs }) {
      closed = true
      await Promise.all([...workers].map((worker) => worker.close(graceMs * WORKERS_SHARE)))
      await client.close(graceMs * (1 - WORKERS_SHARE))
    },
  }
}

function warnOfDangers({ clockSkewMs, redis }: StoreFacts, log: Logger): void {
  if (Math.abs(clockSkewMs) > MAX_SKEW_MS) {
    log.warn({ clockSkewMs }, 'clock differs from the queue store: jobs may run late or twice')
  }
  if (redis !== undefined && redis.evictionPolicy !== 'noeviction') {
    log.warn(
      { evictionPolicy: redis.evictionPolicy },
      'Redis may evict jobs: set maxmemory-policy to noeviction',
    )
  }
}

function callsOf(client: StoreClient, clock: Clock) {
  return {
    enqueue: async (queue: string, { name = queue, payload, id, attempts }: NewJob) => {
      const options = {
        ...(id === undefined ? {} : { deduplication: { id } }),
        ...(attempts === undefined ? {} : { attempts }),
      }
      await client.call(queue, (target) => target.add(name, payload, options))
    },
    reconcile: (queue: string, schedulers: readonly Scheduler[]) =>
      client.call(queue, (target) => reconcileSchedulers(target, schedulers, clock)),
    schedulers: (queue: string) => client.call(queue, listSchedulers),
    counts: (queue: string) =>
      client.call(queue, async (target) => {
        const counts = await target.getJobCounts(...COUNTED_STATES)
        return Object.fromEntries(COUNTED_STATES.map((s) => [s, counts[s] ?? 0])) as JobCounts
      }),
    jobs: (queue: string, state: JobState, limit: number) =>
      client.call(queue, (target) => listJobs(target, state, limit)),
    retryDead: (queue: string, jobId: string) =>
      client.call(queue, (target) => retryJob(target, jobId)),
    dropDead: (queue: string, jobId: string) =>
      client.call(queue, (target) => dropJob(target, jobId)),
  }
}

const COUNTED_STATES = ['waiting', 'active', 'delayed', 'failed', 'completed'] as const

interface NewJob {
  /** The name of the scheduler whose work it does. The default is the name of the queue. */
  readonly name?: string
  readonly payload: JsonObject
  /**
   * While a job with this id waits, runs or is to be retried, another one is dropped. A job that failed for good gives
   * its id up, also when an operator retries it.
   */
  readonly id?: string
  /** How often the job may be tried in all. The default is 5. */
  readonly attempts?: number
}
