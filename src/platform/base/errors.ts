/**
 * An expected failure: the program continues, and the caller decides by `code`. Any other error is a bug and fails the
 * job with its stack.
 */
export abstract class AppError extends Error {
  abstract override readonly name: string
  /** Stable, dotted, for machines: `upstream.rate_limited`. */
  abstract readonly code: string
  /** Whether the same call may succeed later without any change. */
  readonly retryable: boolean = false
}

/** The message of any thrown value, for a log line or the reason of a run. */
export function messageOf(thrown: unknown): string {
  if (!(thrown instanceof Error)) return String(thrown)
  if (thrown.message !== '') return thrown.message
  // A host name with several addresses fails with an AggregateError: one error for each address, and no message.
  if (thrown instanceof AggregateError && thrown.errors.length > 0) {
    return [...new Set(thrown.errors.map(messageOf))].join('; ')
  }
  return String((thrown as { code?: unknown }).code ?? thrown.name)
}

const FULL_DISK = /no space left on device/i

/** Begins a text with the cause if that is a full disk, which the text of a program names late or among other lines. */
export function nameFullDisk(text: string): string {
  return FULL_DISK.test(text) ? `the disk is full, make room on it: ${text}` : text
}

/** The stable code of any thrown value; `internal` for a bug. */
export function codeOf(thrown: unknown): string {
  return thrown instanceof AppError ? thrown.code : 'internal'
}
