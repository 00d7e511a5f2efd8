export interface UpstreamLimits {
  readonly connectTimeoutMs: number
  /** The time from the call to the last byte of a list. */
  readonly listDeadlineMs: number
  /** The time from the call to the last byte of a verify answer. */
  readonly verifyDeadlineMs: number
  /** Cap on the body of a list, both encoded and decoded. */
  readonly maxBodyBytes: number
  /** The same for a verify answer. */
  readonly maxVerifyBytes: number
  /** Also the cap on simultaneous calls: no call waits for the connection of another. */
  readonly maxConnections: number
  /** Cap on the wait that a Retry-After header asks for. */
  readonly maxRetryAfterMs: number
}

/**
 * A million routes are about 160 MB, which need 1.4 MB/s to arrive before the deadline. If the upstream hangs, each
 * verify call holds a connection until its deadline: the connections must suffice for the budget of that time.
 */
export const DEFAULT_LIMITS: UpstreamLimits = {
  connectTimeoutMs: 5_000,
  listDeadlineMs: 120_000,
  verifyDeadlineMs: 10_000,
  maxBodyBytes: 192_000_000,
  maxVerifyBytes: 1_000_000,
  maxConnections: 64,
  maxRetryAfterMs: 900_000,
}
