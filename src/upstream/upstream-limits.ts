export interface UpstreamLimits {
  readonly connectTimeoutMs: number
  /** From the call to the last byte of a list. */
  readonly listDeadlineMs: number
  /** From the call to the last byte of a verify answer. */
  readonly verifyDeadlineMs: number
  /** Cap on the body of a list, both as it travels and decoded. */
  readonly maxBodyBytes: number
  /** The same for a verify answer. */
  readonly maxVerifyBytes: number
  /** Also the cap on calls at one time: none waits for another's connection. */
  readonly maxConnections: number
  /** Cap on the wait that a Retry-After header asks for. */
  readonly maxRetryAfterMs: number
}

/**
 * A million routes are about 160 MB, which at the deadline need 1.4 MB/s. An upstream that hangs holds a
 * connection a verify call until the deadline: the connections must suffice for the budget of that time.
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
