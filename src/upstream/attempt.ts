import { AppError } from '../base/errors.ts'
import type { Logger } from '../base/logger.ts'
import type { PermitRequest } from './breaker/acquire-permit.ts'
import type { Permit } from './breaker/admission.ts'
import type { CircuitBreaker } from './breaker/circuit-breaker.ts'
import type { HttpExchange } from './transport/http-exchange.ts'
import { UpstreamNetworkError } from './upstream-errors.ts'

/** What is reported of one call when it has ended. */
export interface UpstreamCall {
  readonly endpoint: string
  /** `ok`, `aborted` by the caller, `internal` for a bug of ours, or a code. breaker-signal.ts lists all of them. */
  readonly outcome: string
  readonly status?: number
  readonly durationMs: number
  /** Decoded bytes of the body that have arrived. */
  readonly bytes: number
}

/** Filled in while a call runs. */
export interface CallRecord {
  status: number | undefined
  bytes: number
  /** The outcome to report if the call does not throw. */
  outcome: string
  /** The system's code of a failed connection. */
  reason?: string
  /** The wait that a 429 or a 503 asked for, capped. */
  retryAfterMs?: number
}

export interface AttemptDeps {
  readonly exchange: HttpExchange
  readonly log: Logger
  /** Called once for every call that has ended, to count it. */
  readonly observe: ((call: UpstreamCall) => void) | undefined
  readonly breaker: CircuitBreaker | undefined
}

export interface PermittedCall extends PermitRequest {
  readonly permit: Permit
}

/** Makes the requests of a call through `exchange`, which fills in the record. It may set the record's outcome. */
export type RunCall<T> = (exchange: HttpExchange, record: CallRecord) => Promise<T>

export type Attempt<T> = { readonly record: CallRecord } & (
  | { readonly value: T }
  | { readonly error: unknown }
)

/** Makes one permitted call. Reports it once to the log, to `observe` and to the circuit breaker. Never rejects. */
export async function attempt<T>(
  deps: AttemptDeps,
  { endpoint, group, signal, permit }: PermittedCall,
  run: RunCall<T>,
): Promise<Attempt<T>> {
  const startedMs = performance.now()
  const record: CallRecord = { status: undefined, bytes: 0, outcome: 'ok' }
  try {
    return { record, value: await run(recordingExchange(deps.exchange, record), record) }
  } catch (error) {
    if (error instanceof AppError) record.outcome = error.code
    else record.outcome = signal.aborted ? 'aborted' : 'internal'
    return { record, error }
  } finally {
    report(deps, endpoint, { record, durationMs: performance.now() - startedMs })
    await deps.breaker?.report(group, { record, permit })
  }
}

function report(
  { log, observe }: AttemptDeps,
  endpoint: string,
  { record, durationMs }: { record: CallRecord; durationMs: number },
): void {
  const { status, bytes, outcome } = record
  const call = { endpoint, outcome, ...(status === undefined ? {} : { status }) }
  log.debug({ ...call, durationMs: Math.round(durationMs), bytes }, 'upstream call ended')
  observe?.({ ...call, durationMs, bytes })
}

/** The exchange for one call. It records the status, the size, the requested wait and how the connection failed. */
function recordingExchange(exchange: HttpExchange, record: CallRecord): HttpExchange {
  return {
    close: exchange.close,
    async get(request) {
      try {
        const answer = await exchange.get({
          ...request,
          wants: (head) => {
            record.status = head.status
            return request.wants(head)
          },
          onChunk: (chunk) => {
            record.bytes += chunk.length
            request.onChunk?.(chunk)
          },
        })
        if (answer.retryAfterMs !== undefined) record.retryAfterMs = answer.retryAfterMs
        return answer
      } catch (err) {
        if (err instanceof UpstreamNetworkError) record.reason = err.reason
        throw err
      }
    },
  }
}
