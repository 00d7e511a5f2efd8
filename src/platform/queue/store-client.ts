import { type DefaultJobOptions, type IQueueBackend, Queue } from 'bullmq'
import { endsWithin, TimeoutError, withTimeout } from '../base/timeout.ts'
import { type QueueContext, storeFactory } from './queue-connection.ts'
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

interface OpenStore {
  readonly backend: IQueueBackend
  queue(name: string): StoreQueue
}

/**
 * Connects on the first call, and again after a failure.
 *
 * After a failed first connect BullMQ fails all later calls (Postgres) or lets them wait without end (Redis). A queue is
 * therefore used only after its backend became ready in time, and a backend that missed its timeout is discarded.
 * `onTrouble` is called for lost and stalled connections, repeatedly while the store is down.
 */
export function createStoreClient(
  context: QueueContext,
  onTrouble: (err: unknown) => void,
): StoreClient {
  const { connection, scrub, timings } = context
  let current: Promise<OpenStore> | undefined
  let closed = false

  function open(): Promise<OpenStore> {
    if (closed) return Promise.reject(new Error('the queue is closed'))
    if (current !== undefined) return current
    const opening = openStore(context, onTrouble)
    current = opening
    opening.catch(() => forget(opening))
    return opening
  }

  function forget(store: Promise<OpenStore>): void {
    if (current === store) current = undefined
  }

  async function drop(store: Promise<OpenStore>): Promise<void> {
    forget(store)
    await (await store).backend.close(true)
  }

  return {
    async call(name, op) {
      const store = open()
      try {
        const run = async () => op((await store).queue(name))
        return await withTimeout(run(), timings.deadlineMs)
      } catch (err) {
        if (err instanceof TimeoutError) {
          onTrouble(err)
          // On a stalled connection the next call would time out too.
          drop(store).catch(() => undefined)
        }
        throw toUnavailableError(connection, err, scrub)
      }
    },

    async close(ms) {
      closed = true
      const store = current
      if (store === undefined) return
      const graceful = store.then(({ backend }) => backend.close())
      if (!(await endsWithin(graceful, ms))) drop(store).catch(() => undefined)
    },
  }
}

async function openStore(
  { connection, prefix, timings }: QueueContext,
  onTrouble: (err: unknown) => void,
): Promise<OpenStore> {
  // After a few reconnects a waiting command fails. Its caller has received QueueUnavailableError long before.
  const opts = { connection: {}, prefix }
  const backend = storeFactory(connection, 3)('client', opts, {})
  let lastError: unknown
  backend.on('error', (err) => {
    lastError = err
  })
  try {
    // Shorter than the timeout of the call, so that the error has the reason.
    await withTimeout(backend.waitUntilReady(), timings.deadlineMs * 0.8)
  } catch (err) {
    backend.close(true).catch(() => undefined)
    throw lastError ?? err
  }
  backend.on('error', onTrouble)
  backend.on('close', () => {
    if (backend.closing === undefined) onTrouble(new Error('connection closed'))
  })
  const queues = new Map<string, StoreQueue>()
  return {
    backend,
    queue: (name) => {
      const queue = queues.get(name) ?? openQueue(backend, name, prefix)
      queues.set(name, queue)
      return queue
    },
  }
}

/** All queues share the connection of one backend. */
function openQueue(backend: IQueueBackend, name: string, prefix: string): StoreQueue {
  const options = {
    connection: {},
    prefix,
    defaultJobOptions: DEFAULT_JOB_OPTIONS,
    // Nothing reads BullMQ's event stream.
    streams: { events: { maxLen: 1_000 } },
  }
  const queue: StoreQueue = new Queue(name, options, () => backend.forQueue(name, prefix))
  // The shared backend’s listener receives the errors.
  queue.on('error', () => undefined)
  return queue
}
