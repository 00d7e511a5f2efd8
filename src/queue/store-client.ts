import { type IQueueBackend, Queue } from 'bullmq'
import { endsWithin, TimeoutError, withTimeout } from '../base/timeout.ts'
import { DEFAULT_JOB_OPTIONS } from './job-options.ts'
import { storeFactory } from './queue-connection.ts'
import type { QueueContext } from './queue-context.ts'
import { unavailable } from './queue-errors.ts'

export type StoreQueue = Queue<unknown, void, string, unknown, void, string, IQueueBackend, object>

/** The producers' and operators' side of the store: one connection for all queues. */
export interface StoreClient {
  /** Runs `op`; QueueUnavailableError when the store refuses, or does not answer within the deadline. */
  call<T>(queue: string, op: (queue: StoreQueue) => Promise<T>): Promise<T>
  /** Within `ms`. Calls are refused from then on. Never rejects. */
  close(ms: number): Promise<void>
}

interface OpenStore {
  readonly backend: IQueueBackend
  queue(name: string): StoreQueue
}

/**
 * Opens on the first call, and anew after a failure.
 *
 * BullMQ remembers a failed first connect for ever (Postgres) or lets calls wait for ever (Redis): a queue is
 * used only after its backend became ready within the deadline, and a backend that once missed it is dropped.
 * `onTrouble` hears of lost and silent connections, often while the store is away.
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
          // A connection that went silent would swallow the next call too.
          drop(store).catch(() => undefined)
        }
        throw unavailable(connection, err, scrub)
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
  // A few reconnects, then a waiting command fails: its caller has long had its QueueUnavailableError.
  const opts = { connection: {}, prefix }
  const backend = storeFactory(connection, 3)('client', opts, {})
  let lastError: unknown
  backend.on('error', (err) => {
    lastError = err
  })
  try {
    // Sooner than the call's own deadline, so that the reason is told.
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

/** All queues share one backend's connection: each Queue is a sibling of it that owns nothing. */
function openQueue(backend: IQueueBackend, name: string, prefix: string): StoreQueue {
  const options = {
    connection: {},
    prefix,
    defaultJobOptions: DEFAULT_JOB_OPTIONS,
    // Nobody reads BullMQ's event stream here.
    streams: { events: { maxLen: 1_000 } },
  }
  const queue: StoreQueue = new Queue(name, options, () => backend.forQueue(name, prefix))
  // The shared backend's listener hears it all.
  queue.on('error', () => undefined)
  return queue
}
