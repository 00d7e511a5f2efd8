import { UpstreamCircuitOpenError, UpstreamRateLimitedError } from './upstream-errors.ts'

/** For how long, or until when, the upstream is to be left alone. An instant is by the database's clock. */
export type UpstreamWait = { readonly ms: number } | { readonly until: Date }

/**
 * What an error says of when to ask again; undefined where the call failed, rather than being answered by a 429 or
 * stopped by a pause or a breaker. A 429 that named no time says 0: the pause that it began holds the next call up.
 */
export function waitOf(err: unknown): UpstreamWait | undefined {
  if (err instanceof UpstreamCircuitOpenError) return { until: err.until }
  if (err instanceof UpstreamRateLimitedError) return { ms: err.retryAfterMs ?? 0 }
  return undefined
}

/** Milliseconds from now on; 0 where the time has come. */
export function waitMsOf(wait: UpstreamWait, now: Date): number {
  return 'ms' in wait ? wait.ms : Math.max(0, wait.until.getTime() - now.getTime())
}
