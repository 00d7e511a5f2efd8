export interface BriefMemory<T> {
  /** The value of a key: as `ask` says it, or as it did within the last moment. */
  get(key: string, ask: () => Promise<T>): Promise<T>
}

export interface BriefMemoryOptions<T> {
  readonly forMs: number
  /** Milliseconds that only ever grow. */
  readonly nowMs: () => number
  /** Beyond as many the oldest is forgotten. */
  readonly maxKeys: number
  /** What is worth a place: what is not pushes nothing else out, and is asked for each time. All where missing. */
  readonly isKept?: (value: T) => boolean
}

interface Entry<T> {
  readonly atMs: number
  readonly value: Promise<T>
}

/**
 * Remembers answers for a moment, and asks once where many want to know at once. The moment begins before the
 * question is put: an answer is never older than it, whatever the store took. A failure is not remembered.
 */
export function createBriefMemory<T>(options: BriefMemoryOptions<T>): BriefMemory<T> {
  const { forMs, nowMs, maxKeys, isKept = () => true } = options
  const asked = new Map<string, Entry<T>>()
  const known = new Map<string, Entry<T>>()

  const keep = (key: string, entry: Entry<T>) => {
    const { atMs = entry.atMs } = known.get(key) ?? {}
    // A later question may have been answered sooner.
    if (atMs > entry.atMs) return
    known.delete(key)
    known.set(key, entry)
    const oldest = known.keys().next()
    if (known.size > maxKeys && oldest.done !== true) known.delete(oldest.value)
  }
  return {
    get: (key, ask) => {
      const now = nowMs()
      const found = asked.get(key) ?? known.get(key)
      if (found !== undefined && now - found.atMs < forMs) return found.value
      const entry = { atMs: now, value: ask() }
      asked.set(key, entry)
      const answered = () => {
        if (asked.get(key) === entry) asked.delete(key)
      }
      entry.value.then((value) => {
        answered()
        if (isKept(value)) keep(key, entry)
      }, answered)
      return entry.value
    },
  }
}
