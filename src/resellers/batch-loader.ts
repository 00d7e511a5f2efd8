import { setTimeout as delay } from 'node:timers/promises'

export interface BatchLoader<T> {
  /** The value of a key, or undefined if the batch did not return one. */
  find(key: string): Promise<T | undefined>
}

export interface BatchLoaderOptions<T> {
  readonly load: (keys: readonly string[]) => Promise<ReadonlyMap<string, T>>
  /** The minimum time between the starts of two batches. */
  readonly intervalMs: number
}

/**
 * Collects keys and loads them in batches, at most one batch per interval. The first key after a pause is loaded at
 * once. A call waits at most one interval plus the load itself.
 */
export function createBatchLoader<T>({ load, intervalMs }: BatchLoaderOptions<T>): BatchLoader<T> {
  let pause: Promise<unknown> = Promise.resolve()
  let keys = new Set<string>()
  let next: Promise<ReadonlyMap<string, T>> | undefined

  const loadNext = async () => {
    await pause
    pause = delay(intervalMs)
    const batch = [...keys]
    keys = new Set()
    next = undefined
    return load(batch)
  }
  return {
    find: async (key) => {
      keys.add(key)
      next ??= loadNext()
      return (await next).get(key)
    },
  }
}
