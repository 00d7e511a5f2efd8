import type { BackoffPolicy } from '../base/backoff.ts'
import { type Clock, systemClock } from '../base/clock.ts'
import type { Logger } from '../base/logger.ts'
import type { Scrub } from '../base/secrets.ts'
import { cleanText } from '../base/text.ts'
import { dropJob, retryJob } from './failed-jobs.ts'
import { DEFAULT_RETRY_BACKOFF } from './job-options.ts'
import { cleanPayload, type JsonObject } from './job-payload.ts'
import type { JobHandler } from './job-processor.ts'
import { JOB_STATES, type JobState, listJobs, type QueuedJob } from './list-jobs.ts'
import type { QueueConnection } from './queue-connection.ts'
import { DEFAULT_TIMINGS, type QueueContext, type QueueTimings } from './queue-context.ts'
import { createStoreClient, type StoreClient } from './store-client.ts'
import { type RedisFacts, readStoreFacts, type StoreFacts } from './store-facts.ts'
import { createStoreWatch } from './store-watch.ts'
import { superviseWorker, type WorkerHandle } from './supervised-worker.ts'
import { createWorkerErrors } from './throttled-log.ts'
import { upsertTickIn } from './upsert-tick.ts'

export type { JobHandler, JobState, QueuedJob, RedisFacts, StoreFacts, WorkerHandle }
export { JOB_STATES }

export interface QueueSystemOptions {
  readonly connection: QueueConnection
  readonly log: Logger
  /** Masks known secrets in whatever of an error is stored or shown. */
  readonly scrub: Scrub
  /** Redis only: the start of every key. */
  readonly prefix?: string
  readonly timings?: QueueTimings
  readonly clock?: Clock
  readonly random?: () => number
}

export interface NewJob {
  readonly payload: JsonObject
  /**
   * While a job enqueued under this id waits, runs or is to be tried again, another one is dropped. A job that
   * failed for good has lost its id, also when an operator retries it.
   */
  readonly id?: string
  readonly delayMs?: number
  /** How often it may be tried in all; 5 unless told. */
  readonly attempts?: number
}

/** What the handler of a tick gets. */
export type TickPayload = { readonly tick: string }

export interface Tick {
  /** A queue that holds ticks only. */
  readonly queue: string
  readonly name: string
  readonly everyMs: number
}

export interface WorkOptions {
  /** Jobs at a time; 1 unless told. */
  readonly concurrency?: number
  /** A job whose worker is silent for this long may be taken by another; 30 s unless told. */
  readonly lockMs?: number
  /** How often silent jobs are looked for; 15 s unless told. Found by one look, they are given to others by the next. */
  readonly stalledCheckMs?: number
  /** How often a job may be begun in all, whatever ended it; 15 unless told. */
  readonly maxStartedAttempts?: number
  /**
   * How long after it was to run first a handler's NotNowError puts a job off; six hours unless told. Nor does it when
   * no more starts are left than attempts. It is a failed attempt then.
   */
  readonly putOffForMs?: number
  readonly retryBackoff?: BackoffPolicy
  /** Called for each job that was found without a living worker. */
  readonly onStalled?: () => void
}

export type JobCounts = Record<'waiting' | 'active' | 'delayed' | 'failed' | 'completed', number>

/**
 * The queue: jobs, ticks and workers on one store.
 *
 * Every call but `close` throws QueueUnavailableError when the store refuses, or does not answer within the
 * deadline (5 s unless told). A call that missed its deadline may still take effect.
 */
export interface QueueSystem {
  readonly kind: 'postgres' | 'redis'
  /** Asks the store once, and warns when its clock or its eviction policy endangers jobs. */
  start(): Promise<void>
  enqueue(queue: string, job: NewJob): Promise<void>
  /**
   * Makes the tick exist, once, whoever asks how often; a changed `everyMs` is taken over, and one that a wrong
   * clock put off comes soon again. The first tick comes at once. Where two processes are the first at one moment, two first ticks may come.
   */
  upsertTick(tick: Tick): Promise<void>
  /** Runs the queue's jobs until closed, through outages of the store. */
  work<P>(queue: string, handler: JobHandler<P>, options?: WorkOptions): Promise<WorkerHandle>
  counts(queue: string): Promise<JobCounts>
  /** Those that ended, the newest first; the others, the oldest first. */
  jobs(queue: string, state: JobState, limit: number): Promise<QueuedJob[]>
  /** Gives a dead job all its attempts anew. False where no dead job has this id. */
  retryDead(queue: string, jobId: string): Promise<boolean>
  /** False where no dead job has this id. */
  dropDead(queue: string, jobId: string): Promise<boolean>
  /** Called when the store was away and answers again: it may have lost ticks and jobs. Returns the way to stop. */
  onReconnect(listener: () => void): () => void
  /** The store's clock minus ours. */
  clockSkewMs(): Promise<number>
  /** What the store says of itself. */
  facts(): Promise<StoreFacts>
  /** Closes all workers, then the connections, within `graceMs`. Never rejects. */
  close(options: { readonly graceMs: number }): Promise<void>
}

const MAX_SKEW_MS = 2_000
/** Of the grace time, what workers have; the rest is for the last connection. */
const WORKERS_SHARE = 0.9
/** A queue of nobody's, for questions about the store itself. */
const OWN_QUEUE = 'queue-system'

/** Connects to nothing until the first call. */
export function createQueueSystem(options: QueueSystemOptions): QueueSystem {
  const context: QueueContext = {
    prefix: '{farewatch}',
    timings: DEFAULT_TIMINGS,
    clock: systemClock,
    random: Math.random,
    ...options,
  }
  const client = createStoreClient(context, (err) => watch.suspect(err))
  const facts = () =>
    client.call(OWN_QUEUE, (queue) => readStoreFacts(queue.getBackend(), context.clock))
  const ping = async () => void (await facts())
  const watch = createStoreWatch({ ...context, ping })
  const errors = createWorkerErrors(context)
  const workers = new Set<WorkerHandle>()
  let closed = false

  return {
    kind: context.connection.kind,
    start: async () => warnOfDangers(await facts(), context.log),
    clockSkewMs: async () => (await facts()).clockSkewMs,
    facts,
    onReconnect: watch.onReconnect,
    ...producerCalls(client, context.clock),
    ...operatorCalls(client),

    async work<P>(queue: string, handler: JobHandler<P>, asked: WorkOptions = {}) {
      const spec = {
        queue,
        handler: handler as JobHandler<unknown>,
        settings: { ...DEFAULT_WORK_OPTIONS, ...asked },
        onTrouble: watch.suspect,
        errors,
      }
      const worker = await superviseWorker({ context, ping }, spec)
      workers.add(worker)
      if (closed) await worker.close(0)
      return worker
    },

    async close({ graceMs }) {
      closed = true
      watch.close()
      await Promise.all([...workers].map((worker) => worker.close(graceMs * WORKERS_SHARE)))
      await client.close(graceMs * (1 - WORKERS_SHARE))
    },
  }
}

function warnOfDangers({ clockSkewMs, redis }: StoreFacts, log: Logger): void {
  if (Math.abs(clockSkewMs) > MAX_SKEW_MS) {
    log.warn({ clockSkewMs }, 'clock differs from the queue store, jobs may run late or twice')
  }
  if (redis !== undefined && redis.evictionPolicy !== 'noeviction') {
    log.warn(
      { evictionPolicy: redis.evictionPolicy },
      'Redis may evict jobs: set maxmemory-policy to noeviction',
    )
  }
}

function producerCalls(
  client: StoreClient,
  clock: Clock,
): Pick<QueueSystem, 'enqueue' | 'upsertTick'> {
  const keepApart = createKeeper()
  return {
    async enqueue(queue, { payload, id, delayMs, attempts }) {
      keepApart(queue, 'jobs')
      const data = cleanPayload(payload)
      const options = {
        ...(id === undefined ? {} : { deduplication: { id: cleanId(id) } }),
        ...(delayMs === undefined ? {} : { delay: Math.max(0, Math.round(delayMs)) }),
        ...(attempts === undefined ? {} : { attempts }),
      }
      await client.call(queue, (target) => target.add(queue, data, options))
    },

    async upsertTick({ queue, ...tick }) {
      keepApart(queue, 'ticks')
      await client.call(queue, (target) => upsertTickIn(target, tick, clock))
    },
  }
}

function operatorCalls(
  client: StoreClient,
): Pick<QueueSystem, 'counts' | 'jobs' | 'retryDead' | 'dropDead'> {
  return {
    counts: (queue) =>
      client.call(queue, async (target) => {
        const counts = await target.getJobCounts(...COUNTED_STATES)
        return Object.fromEntries(COUNTED_STATES.map((s) => [s, counts[s] ?? 0])) as JobCounts
      }),
    jobs: (queue, state, limit) => client.call(queue, (target) => listJobs(target, state, limit)),
    retryDead: (queue, jobId) => client.call(queue, (target) => retryJob(target, jobId)),
    dropDead: (queue, jobId) => client.call(queue, (target) => dropJob(target, jobId)),
  }
}

const COUNTED_STATES = ['waiting', 'active', 'delayed', 'failed', 'completed'] as const

const DEFAULT_WORK_OPTIONS = {
  concurrency: 1,
  lockMs: 30_000,
  stalledCheckMs: 15_000,
  // More than the attempts of any job: a job given back by a closing process was begun too.
  maxStartedAttempts: 15,
  putOffForMs: 6 * 60 * 60 * 1000,
  retryBackoff: DEFAULT_RETRY_BACKOFF,
  onStalled: () => undefined,
}

/** Refuses to mix: BullMQ makes a tick's next job only when the last one begins, and jobs before it would delay it. */
function createKeeper() {
  const uses = new Map<string, 'jobs' | 'ticks'>()
  return (queue: string, use: 'jobs' | 'ticks') => {
    const before = uses.get(queue) ?? use
    if (before !== use) throw new TypeError(`queue ${queue} holds ${before}, not ${use}`)
    uses.set(queue, use)
  }
}

function cleanId(id: string): string {
  const clean = cleanText(id)
  if (clean === '') throw new TypeError('the id of a job is empty')
  return clean
}
