export interface UpstreamLimits {
  readonly connectTimeoutMs: number
  /** From the call to the last byte of a list. */
  readonly listDeadlineMs: number
  /** Cap on a body, both as it travels and decoded. */
  readonly maxBodyBytes: number
  readonly maxConnections: number
  /** Cap on the wait that a Retry-After header asks for. */
  readonly maxRetryAfterMs: number
}

/** A million routes are about 160 MB, which at the deadline need 1.4 MB/s. */
export const DEFAULT_LIMITS: UpstreamLimits = {
  connectTimeoutMs: 5_000,
  listDeadlineMs: 120_000,
  maxBodyBytes: 192_000_000,
  maxConnections: 8,
  maxRetryAfterMs: 900_000,
}
