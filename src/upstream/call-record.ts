import { AppError } from '../base/errors.ts'
import type { Logger } from '../base/logger.ts'

/** What is known of one call when it ends, however it ends. */
export interface UpstreamCall {
  readonly endpoint: string
  /** `ok`, `aborted` by the caller, `internal` for a bug of ours, else a code; call-verdict.ts has them all. */
  readonly outcome: string
  readonly status?: number
  readonly durationMs: number
  /** Of the body, decoded, as far as it came. */
  readonly bytes: number
}

/** Filled in while a call runs. */
export interface CallRecord {
  status: number | undefined
  bytes: number
  /** What is reported of a call that does not throw. */
  outcome: string
  /** Of a connection that failed: the system's code. */
  reason?: string
  /** What a 429 or a 503 asked us to wait; capped. */
  retryAfterMs?: number
}

export interface RecordDeps {
  readonly log: Logger
  readonly observe: ((call: UpstreamCall) => void) | undefined
}

/** Runs one call and reports it: to the log and to `observe`, in one place, once. */
export async function recorded<T>(
  { log, observe }: RecordDeps,
  { endpoint, signal }: { endpoint: string; signal: AbortSignal },
  call: (record: CallRecord) => Promise<T>,
): Promise<T> {
  const startedMs = performance.now()
  const record: CallRecord = { status: undefined, bytes: 0, outcome: 'ok' }
  try {
    return await call(record)
  } catch (err) {
    if (err instanceof AppError) record.outcome = err.code
    else record.outcome = signal.aborted ? 'aborted' : 'internal'
    throw err
  } finally {
    const { status, bytes, outcome } = record
    const durationMs = performance.now() - startedMs
    const seen = { endpoint, outcome, ...(status === undefined ? {} : { status }) }
    log.debug({ ...seen, durationMs: Math.round(durationMs), bytes }, 'upstream call ended')
    observe?.({ ...seen, durationMs, bytes })
  }
}
