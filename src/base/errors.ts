/**
 * A failure that we expect: the program goes on, the caller decides by `code`.
 * Everything that is not an AppError is a bug and crashes the job with its stack.
 */
export abstract class AppError extends Error {
  abstract override readonly name: string
  /** Stable, dotted, for machines: `upstream.rate_limited`. */
  abstract readonly code: string
  /** Whether the same call may succeed later without anybody changing anything. */
  abstract readonly retryable: boolean
}

/** The message of anything thrown, for a log line or a run's reason. */
export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown)
}

/** The stable code of anything thrown; a bug has none of its own. */
export function codeOf(thrown: unknown): string {
  return thrown instanceof AppError ? thrown.code : 'internal'
}
