import {
  type DefaultJobOptions,
  type IQueueBackend,
  PostgresQueueBackend,
  Queue,
  type RedisQueueBackend,
} from 'bullmq'
import { type Clock, endsWithin, TimeoutError, withTimeout } from '../base/clock.ts'
import {
  KEY_PREFIX,
  type QueueConnection,
  type QueueContext,
  repeatStrategy,
  storeFactory,
} from './queue-connection.ts'
import { toUnavailableError } from './queue-errors.ts'

const DAY_SECONDS = 24 * 60 * 60

/** BullMQ's own defaults keep finished jobs forever and never retry. */
const DEFAULT_JOB_OPTIONS: DefaultJobOptions = {
  attempts: 5,
  // The type name is arbitrary: workers compute the backoff (`backoffStrategy` in job-worker.ts).
  backoff: { type: 'jittered' },
  removeOnComplete: { count: 1_000, age: DAY_SECONDS },
  removeOnFail: { count: 10_000, age: 30 * DAY_SECONDS },
  stackTraceLimit: 3,
}

export type StoreQueue = Queue<unknown, void, string, unknown, void, string, IQueueBackend, object>

/** The connection of producers and operators to the store: one for all queues. */
export interface StoreClient {
  /** Runs `op`. Throws QueueUnavailableError if the store refuses or does not answer in time. */
  call<T>(queue: string, op: (queue: StoreQueue) => Promise<T>): Promise<T>
  /** Closes the connection within `ms` and refuses later calls. Never rejects. */
  close(ms: number): Promise<void>
}

interface Store {
  readonly backend: IQueueBackend
  readonly queues: Map<string, StoreQueue>
  isReady: boolean
  lastError: unknown
}

/**
 * Connects on the first call, and again after a failure.
 *
 * After a failed first connect BullMQ fails all later calls (Postgres) or lets them wait without end (Redis), and on a
 * stalled connection the next call would time out too. Such a connection is discarded.
 */
export function createStoreClient({ connection, scrub, timings }: QueueContext): StoreClient {
  let current: Store | undefined
  let closed = false

  function discard(store: Store): void {
    if (current === store) current = undefined
    store.backend.close(true).catch(() => undefined)
  }

  return {
    async call(name, op) {
      if (closed) throw toUnavailableError(connection, new Error('the queue is closed'), scrub)
      current ??= openStore(connection)
      const store = current
      try {
        return await withTimeout(callStore(store, name, op), timings.deadlineMs)
      } catch (err) {
        const isLate = err instanceof TimeoutError
        const reason = isLate && !store.isReady ? (store.lastError ?? err) : err
        if (isLate || !store.isReady) discard(store)
        throw toUnavailableError(connection, reason, scrub)
      }
    },

    async close(ms) {
      closed = true
      const store = current
      if (store !== undefined && !(await endsWithin(store.backend.close(), ms))) discard(store)
    },
  }
}

function openStore(connection: QueueConnection): Store {
  // After a few reconnects a waiting command fails. Its caller has received QueueUnavailableError long before.
  const opts = { connection: {}, prefix: KEY_PREFIX }
  const backend = storeFactory(connection, 3)('client', opts, {})
  const store: Store = { backend, queues: new Map(), isReady: false, lastError: undefined }
  backend.on('error', (err) => {
    store.lastError = err
  })
  return store
}

async function callStore<T>(store: Store, name: string, op: (queue: StoreQueue) => Promise<T>) {
  const { backend, queues } = store
  await backend.waitUntilReady()
  store.isReady = true
  const queue = queues.get(name) ?? openQueue(backend, name)
  queues.set(name, queue)
  return op(queue)
}

/** All queues share the connection of one backend. */
function openQueue(backend: IQueueBackend, name: string): StoreQueue {
  const options = {
    connection: {},
    prefix: KEY_PREFIX,
    defaultJobOptions: DEFAULT_JOB_OPTIONS,
    // Nothing reads BullMQ's event stream.
    streams: { events: { maxLen: 1_000 } },
    settings: { repeatStrategy },
  }
  const queue: StoreQueue = new Queue(name, options, () => backend.forQueue(name, KEY_PREFIX))
  // The shared backend’s listener receives the errors.
  queue.on('error', () => undefined)
  return queue
}

/** Properties of the store that can endanger jobs. */
export interface StoreFacts {
  /**
   * The store's clock minus ours, in milliseconds, accurate to about half of one round trip.
   *
   * Delays, and on Postgres also locks and stall checks, are computed with the client's clock. A process whose clock is
   * wrong by more than the duration of a lock takes jobs of other processes or loses its own.
   */
  readonly clockSkewMs: number
  /** Present if the store is Redis. */
  readonly redis?: RedisFacts
}

export interface RedisFacts {
  readonly version: string
  /** Any policy except `noeviction` drops jobs when memory runs out. */
  readonly evictionPolicy: string
  readonly usedBytes: number
  /** 0 if the memory of the machine is the only limit. */
  readonly maxBytes: number
  /** Whether every write is appended to a file (AOF). Without it a restart loses the writes since the last dump. */
  readonly appendOnly: boolean
  /** Whether its last write to disk failed. It then refuses commands. */
  readonly writesFail: boolean
  /** Whether it is a replica, which refuses writes. */
  readonly replica: boolean
}

/** Reads the facts from the store. Throws the driver's errors. */
export async function readStoreFacts(backend: IQueueBackend, clock: Clock): Promise<StoreFacts> {
  const sentAt = clock.now().getTime()
  const { storeNow, ...rest } = await queryStore(backend)
  const middle = (sentAt + clock.now().getTime()) / 2
  return { clockSkewMs: Math.round(storeNow - middle), ...rest }
}

async function queryStore(
  backend: IQueueBackend,
): Promise<{ storeNow: number; redis?: RedisFacts }> {
  if (backend instanceof PostgresQueueBackend) {
    const { rows } = await backend.connection.pool.query<{ ms: string }>(
      'select extract(epoch from clock_timestamp()) * 1000 as ms',
    )
    return { storeNow: Number(rows[0]?.ms) }
  }
  const info = await (await (backend as RedisQueueBackend).client).info()
  return { storeNow: Number(fieldOf(info, 'server_time_usec')) / 1000, redis: redisFacts(info) }
}

function redisFacts(info: string): RedisFacts {
  const is = (name: string, value: string) => fieldOf(info, name) === value
  return {
    version: fieldOf(info, 'redis_version') ?? 'unknown',
    evictionPolicy: fieldOf(info, 'maxmemory_policy') ?? 'unknown',
    usedBytes: Number(fieldOf(info, 'used_memory') ?? 0),
    maxBytes: Number(fieldOf(info, 'maxmemory') ?? 0),
    appendOnly: is('aof_enabled', '1'),
    writesFail: is('aof_last_write_status', 'err') || is('rdb_last_bgsave_status', 'err'),
    replica: is('role', 'slave'),
  }
}

function fieldOf(info: string, name: string): string | undefined {
  return new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1]
}
