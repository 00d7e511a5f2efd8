import { setTimeout as delay } from 'node:timers/promises'

/** The result of counting one request. */
interface Take {
  readonly allowed: boolean
  /** Requests that may still be made at once. */
  readonly remaining: number
  /** Seconds until the whole quota is available again. */
  readonly resetSeconds: number
  /** Seconds until one more request may be made; 0 if it may be made now. */
  readonly retryAfterSeconds: number
}

export interface RateLimit {
  /** Requests that may be made at once. */
  readonly quota: number
  /** Seconds in which the quota refills. */
  readonly windowSeconds: number
  /** Waits before a client is asked to come back later. */
  pause(): Promise<unknown>
  /** Counts a request of a key. A key is a kind, a space and a name: `address ::1`. */
  take(key: string): Take
}

interface RateLimitOptions {
  readonly requestsPerSecond: number
  /** A monotonic clock. */
  readonly nowMs: () => number
  /** For tests. */
  readonly pause?: () => Promise<unknown>
  /** When a kind has more keys than this, its least recently used key is dropped. */
  readonly maxKeys?: number
}

const WINDOW_SECONDS = 10
const MAX_KEYS = 10_000
/** A client that repeats refused requests at once would keep the process busy with refusals. */
const PAUSE_MS = 200

/**
 * A token bucket for every key. The bucket holds ten seconds' worth of requests and refills evenly. Each kind of
 * key has its own map: unauthenticated clients with many addresses cannot evict the bucket of an API key, which
 * would refill it.
 *
 * The buckets are in the memory of this process. A limit shared by all processes would cost a round trip to the
 * store on every request in order to protect that store. With N processes a caller has up to N times the rate.
 */
export function createRateLimit(options: RateLimitOptions): RateLimit {
  const { requestsPerSecond, nowMs, maxKeys = MAX_KEYS } = options
  const quota = requestsPerSecond * WINDOW_SECONDS
  const kinds = new Map<string, Map<string, Bucket>>()
  return {
    quota,
    windowSeconds: WINDOW_SECONDS,
    pause: options.pause ?? (() => delay(PAUSE_MS)),
    take: (key) => {
      const now = nowMs()
      const buckets = bucketsOf(kinds, key)
      const bucket = buckets.get(key) ?? { tokens: quota, atMs: now }
      const grown = bucket.tokens + ((now - bucket.atMs) / 1000) * requestsPerSecond
      const available = Math.min(quota, grown)
      const allowed = available >= 1
      const tokens = allowed ? available - 1 : available
      // A Map keeps the order of insertion, so the first key is the least recently used.
      buckets.delete(key)
      buckets.set(key, { tokens, atMs: now })
      const [oldest] = buckets.keys()
      if (buckets.size > maxKeys && oldest !== undefined) buckets.delete(oldest)
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

/** The kinds come from our own code, so there are few. */
function bucketsOf(kinds: Map<string, Map<string, Bucket>>, key: string): Map<string, Bucket> {
  const kind = key.slice(0, Math.max(0, key.indexOf(' ')))
  const known = kinds.get(kind)
  if (known !== undefined) return known
  const buckets = new Map<string, Bucket>()
  kinds.set(kind, buckets)
  return buckets
}
