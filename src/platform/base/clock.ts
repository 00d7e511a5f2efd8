import { setTimeout as delay } from 'node:timers/promises'

/** Time as an input. Code that needs the time takes a Clock, so that tests can control it. */
export interface Clock {
  now(): Date
  /** Rejects with the signal's reason when it aborts first. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
}

export const systemClock: Clock = {
  now: () => new Date(),
  sleep: async (ms, signal) => {
    await delay(ms, undefined, signal ? { signal } : {})
  },
}

/** Estimates of the database's clock differ by less from it. */
export const CLOCK_ERROR_MS = 10_000

/** Whether an instant of the past lies ahead of now, because the clock of the database was set back since. */
export function isAhead(ms: number | null, nowMs: number): boolean {
  return ms !== null && ms > nowMs + CLOCK_ERROR_MS
}

/** Backoff with full jitter: retries of many callers spread evenly over the window. */
export interface BackoffPolicy {
  readonly baseMs: number
  readonly maxMs: number
}

/**
 * The pause before retry number `attempt` (0-based): uniform in [0, min(max, base · 2^attempt)).
 *
 * Source: Brooker, "Exponential Backoff And Jitter", AWS Architecture Blog, 2015.
 * @example backoffMs({ baseMs: 100, maxMs: 5000 }, 3, () => 0.5) // 400
 */
export function backoffMs(policy: BackoffPolicy, attempt: number, random: () => number): number {
  const ceiling = Math.min(policy.maxMs, policy.baseMs * 2 ** attempt)
  return Math.floor(random() * ceiling)
}

/** The work did not end in time. It may still end later, so whatever it writes must be safe to write twice. */
export class TimeoutError extends Error {
  override readonly name = 'TimeoutError'

  constructor(ms: number) {
    super(`no answer within ${ms} ms`)
  }
}

/** Resolves or rejects as the work does, or rejects with TimeoutError after `ms`. */
export async function withTimeout<T>(work: Promise<T>, ms: number): Promise<T> {
  const { promise: expired, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(new TimeoutError(ms)), ms)
  // The work may still reject after the timeout, when nothing awaits it any more.
  work.catch(() => undefined)
  try {
    return await Promise.race([work, expired])
  } finally {
    clearTimeout(timer)
  }
}

/** Whether the work ended, well or badly, within `ms`. Never rejects. */
export async function endsWithin(work: Promise<unknown>, ms: number): Promise<boolean> {
  try {
    await withTimeout(work, Math.max(0, ms))
    return true
  } catch (err) {
    return !(err instanceof TimeoutError)
  }
}

/** Runs the work once at a time. Calls while it runs share the next run. */
export function coalesce<T>(work: () => Promise<T>): () => Promise<T> {
  let current: Promise<unknown> = Promise.resolve()
  let next: Promise<T> | undefined
  const run = () => {
    next = undefined
    const running = work()
    current = running
    return running
  }
  return () => {
    next ??= current.catch(() => undefined).then(run)
    return next
  }
}
