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
  if (!(thrown instanceof Error)) return String(thrown)
  if (thrown.message !== '') return thrown.message
  // A name with several addresses fails with one error an address, and no message of its own.
  if (thrown instanceof AggregateError && thrown.errors.length > 0) {
    return [...new Set(thrown.errors.map(messageOf))].join('; ')
  }
  return String((thrown as { code?: unknown }).code ?? thrown.name)
}

/** The stable code of anything thrown; a bug has none of its own. */
export function codeOf(thrown: unknown): string {
  return thrown instanceof AppError ? thrown.code : 'internal'
}
