/** Gives a place back. A second call has no effect. */
export type Release = () => void

interface KeyedSemaphore {
  /**
   * Waits for a place of the key. Undefined if too many wait already, or if the signal aborts first.
   * @param limitWait called only if there is a wait.
   */
  acquire(key: string, limitWait?: () => AbortSignal): Promise<Release | undefined>
}

interface KeyedSemaphoreOptions {
  /** How many places each key has. */
  readonly width: number
  /** How many may wait for a place of one key. */
  readonly maxWaiting: number
}

interface Queue {
  running: number
  readonly waiting: Set<() => void>
}

/** A semaphore for each key. Its places are given in the order of arrival, and no key waits for another. */
export function createKeyedSemaphore(options: KeyedSemaphoreOptions): KeyedSemaphore {
  const { width, maxWaiting } = options
  const queues = new Map<string, Queue>()

  const start = (key: string, queue: Queue): Release => {
    let released = false
    queue.running += 1
    return () => {
      if (released) return
      released = true
      queue.running -= 1
      const [next] = queue.waiting
      if (next !== undefined) next()
      else if (queue.running === 0) queues.delete(key)
    }
  }
  return {
    acquire: async (key, limitWait) => {
      const queue = queues.get(key) ?? { running: 0, waiting: new Set() }
      queues.set(key, queue)
      if (queue.running < width) return start(key, queue)
      if (queue.waiting.size >= maxWaiting) return undefined
      const signal = limitWait?.()
      if (signal?.aborted === true) return undefined
      return new Promise((resolve) => {
        const leave = (release: Release | undefined) => {
          queue.waiting.delete(next)
          signal?.removeEventListener('abort', giveUp)
          resolve(release)
        }
        const next = () => leave(start(key, queue))
        const giveUp = () => leave(undefined)
        signal?.addEventListener('abort', giveUp, { once: true })
        queue.waiting.add(next)
      })
    },
  }
}

export type Semaphore = <T>(work: () => Promise<T>) => Promise<T>

/** Runs at most `width` pieces of work at a time. The others wait in the order of their arrival. */
export function createSemaphore(width: number): Semaphore {
  const places = createKeyedSemaphore({ width, maxWaiting: Number.POSITIVE_INFINITY })
  return async (work) => {
    const release = await places.acquire('')
    try {
      return await work()
    } finally {
      release?.()
    }
  }
}

/** Runs at most `width` pieces of work at a time, and of each key one: keys take turns, however many pieces one has. */
export function createFairSemaphore(
  width: number,
): <T>(key: number | string, work: () => Promise<T>) => Promise<T> {
  const ofAll = createSemaphore(width)
  const ofKey = createKeyedSemaphore({ width: 1, maxWaiting: Number.POSITIVE_INFINITY })
  return async (key, work) => {
    const release = await ofKey.acquire(String(key))
    try {
      return await ofAll(work)
    } finally {
      release?.()
    }
  }
}
