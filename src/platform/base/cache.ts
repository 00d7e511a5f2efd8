export interface TtlCache<T> {
  /** The cached value of a key, or the one that `load` returns. Concurrent calls for one key share one load. */
  get(key: string, load: () => Promise<T>): Promise<T>
  /** Drops all values, and those of loads that run: the next `get` of a key loads it. */
  clear(): void
}

interface TtlCacheOptions<T> {
  readonly ttlMs: number
  /** A monotonic clock. */
  readonly nowMs: () => number
  /** When the cache holds more keys than this, the oldest entry is dropped. */
  readonly maxKeys: number
  /** A value that is not cacheable takes no place in the cache and is loaded each time. Default: every value is. */
  readonly isCacheable?: (value: T) => boolean
}

interface Entry<T> {
  readonly atMs: number
  readonly value: Promise<T>
}

/**
 * Caches loaded values for `ttlMs`, counted from the start of the load: a cached value is never older than that,
 * however long the load took. Failures are not cached.
 */
export function createTtlCache<T>(options: TtlCacheOptions<T>): TtlCache<T> {
  const { ttlMs, nowMs, maxKeys, isCacheable = () => true } = options
  const loading = new Map<string, Entry<T>>()
  const cached = new Map<string, Entry<T>>()

  const keep = (key: string, entry: Entry<T>) => {
    cached.delete(key)
    cached.set(key, entry)
    const oldest = cached.keys().next()
    if (cached.size > maxKeys && oldest.done !== true) cached.delete(oldest.value)
  }
  return {
    get: (key, load) => {
      const now = nowMs()
      const found = loading.get(key) ?? cached.get(key)
      if (found !== undefined && now - found.atMs < ttlMs) return found.value
      const entry = { atMs: now, value: load() }
      loading.set(key, entry)
      /** False if a later load has begun, or the cache was cleared since. */
      const isLatest = () => loading.get(key) === entry && loading.delete(key)
      entry.value.then((value) => {
        if (isLatest() && isCacheable(value)) keep(key, entry)
      }, isLatest)
      return entry.value
    },
    clear: () => {
      loading.clear()
      cached.clear()
    },
  }
}

/** Makes a value at its first use and keeps it. An error is thrown again by each use. */
export function lazily<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined
  return () => {
    made ??= { value: make() }
    return made.value
  }
}

/** Computes what follows from an object at its first use, and keeps it as long as the object. The object must not change. */
export function memoized<T extends object, R extends object>(compute: (of: T) => R): (of: T) => R {
  const made = new WeakMap<T, R>()
  return (of) => {
    const result = made.get(of) ?? compute(of)
    made.set(of, result)
    return result
  }
}
