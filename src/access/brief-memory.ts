export interface BriefMemory<T> {
  /** The value of a key: as `ask` says it, or as it did within the last moment. */
  get(key: string, ask: () => Promise<T>): Promise<T>
}

export interface BriefMemoryOptions {
  readonly forMs: number
  /** Milliseconds that only ever grow. */
  readonly nowMs: () => number
  /** Beyond as many the oldest is forgotten. */
  readonly maxKeys: number
}

/**
 * Remembers answers for a moment, and asks once where many want to know at once. The moment begins before the
 * question is put: an answer is never older than it, whatever the store took. A failure is not remembered.
 */
export function createBriefMemory<T>(options: BriefMemoryOptions): BriefMemory<T> {
  const { forMs, nowMs, maxKeys } = options
  const known = new Map<string, { readonly atMs: number; readonly value: Promise<T> }>()
  return {
    get: (key, ask) => {
      const now = nowMs()
      const found = known.get(key)
      if (found !== undefined && now - found.atMs < forMs) return found.value
      const value = ask()
      const entry = { atMs: now, value }
      known.delete(key)
      known.set(key, entry)
      value.catch(() => {
        if (known.get(key) === entry) known.delete(key)
      })
      const oldest = known.keys().next()
      if (known.size > maxKeys && oldest.done !== true) known.delete(oldest.value)
      return value
    },
  }
}
