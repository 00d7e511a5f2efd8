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
