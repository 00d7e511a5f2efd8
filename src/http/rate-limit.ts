/** What became of one request against its limit. */
export interface Take {
  readonly allowed: boolean
  /** Whole requests that may still be made at once. */
  readonly remaining: number
  /** Until the whole burst may be made again. */
  readonly resetSeconds: number
  /** Until one more request may be made; 0 where one may. */
  readonly retryAfterSeconds: number
}

export interface RateLimit {
  /** The requests that may be made at once, and the seconds in which as many come back. */
  readonly quota: number
  readonly windowSeconds: number
  /** Counts a request of a key: its kind, a blank and its name, as `address ::1`. */
  take(key: string): Take
}

export interface RateLimitOptions {
  readonly requestsPerSecond: number
  /** Milliseconds that only ever grow. */
  readonly nowMs: () => number
  /** Beyond as many keys of a kind the one that was seen least recently is forgotten. */
  readonly maxKeys?: number
}

const WINDOW_SECONDS = 10
const MAX_KEYS = 10_000

/**
 * A bucket of tokens a key: ten seconds' worth may be spent at once, and comes back evenly. Each kind of key has its
 * own room in memory: strangers of as many addresses as they like push out no key's bucket, which would be full again.
 *
 * In this process's memory: a limit that processes share would cost a round trip to a store on every request, to
 * protect that store. With N processes a caller has up to N times the rate.
 */
export function createRateLimit(options: RateLimitOptions): RateLimit {
  const { requestsPerSecond, nowMs, maxKeys = MAX_KEYS } = options
  const quota = requestsPerSecond * WINDOW_SECONDS
  const kinds = new Map<string, Map<string, Bucket>>()
  return {
    quota,
    windowSeconds: WINDOW_SECONDS,
    take: (key) => {
      const now = nowMs()
      const buckets = roomOf(kinds, key)
      const bucket = buckets.get(key) ?? { tokens: quota, atMs: now }
      const grown = bucket.tokens + ((now - bucket.atMs) / 1000) * requestsPerSecond
      const available = Math.min(quota, grown)
      const allowed = available >= 1
      const tokens = allowed ? available - 1 : available
      // A Map keeps the order of insertion: put again, a key is the youngest.
      buckets.delete(key)
      buckets.set(key, { tokens, atMs: now })
      if (buckets.size > maxKeys) forgetOldest(buckets)
      return {
        allowed,
        remaining: Math.floor(tokens),
        resetSeconds: Math.ceil((quota - tokens) / requestsPerSecond),
        retryAfterSeconds: tokens >= 1 ? 0 : Math.ceil((1 - tokens) / requestsPerSecond),
      }
    },
  }
}

interface Bucket {
  readonly tokens: number
  readonly atMs: number
}

/** There are as many kinds as callers of ours name, which are few. */
function roomOf(kinds: Map<string, Map<string, Bucket>>, key: string): Map<string, Bucket> {
  const kind = key.slice(0, Math.max(0, key.indexOf(' ')))
  const known = kinds.get(kind)
  if (known !== undefined) return known
  const room = new Map<string, Bucket>()
  kinds.set(kind, room)
  return room
}

function forgetOldest(buckets: Map<string, unknown>): void {
  const oldest = buckets.keys().next()
  if (oldest.done !== true) buckets.delete(oldest.value)
}
