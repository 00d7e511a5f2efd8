import {
  type TimeoutPhase,
  UpstreamContractError,
  UpstreamNetworkError,
  UpstreamTimeoutError,
  UpstreamTooLargeError,
} from '../upstream-errors.ts'
import type { Deadline } from './deadline.ts'

export interface FailedCall {
  readonly endpoint: string
  readonly phase: TimeoutPhase
  readonly status: number | undefined
  readonly deadline: Deadline
  readonly deadlineMs: number
  readonly connectTimeoutMs: number
  /** The caller's own signal. */
  readonly signal: AbortSignal
}

/**
 * What to throw for what undici, a socket or zlib threw: one of our errors, or the caller's own reason when it
 * gave up, or the thing itself when it is a bug of ours.
 *
 * Their errors are never kept as a cause: one holds the raw bytes of the answer, another the socket.
 */
export function transportError(thrown: unknown, call: FailedCall): unknown {
  if (call.deadline.expired) return timeout(call, call.phase, call.deadlineMs)
  if (call.signal.aborted) return call.signal.reason
  const code = codeOf(thrown)
  if (code === undefined) return thrown
  if (code === 'UND_ERR_CONNECT_TIMEOUT') return timeout(call, 'connection', call.connectTimeoutMs)
  if (code === 'UND_ERR_HEADERS_OVERFLOW') {
    return new UpstreamTooLargeError({ endpoint: call.endpoint, what: 'the headers are too long' })
  }
  const where = contractBreach(thrown, code, call.phase)
  if (where) return new UpstreamContractError({ ...facts(call), where })
  return new UpstreamNetworkError({ endpoint: call.endpoint, reason: code })
}

/** Tried on undici 8.12: which of its errors mean that the answer, not the connection, is at fault. */
function contractBreach(thrown: unknown, code: string, phase: TimeoutPhase): string | undefined {
  if (code.startsWith('Z_')) return 'the compressed body is damaged or ends early'
  const endsEarly =
    code === 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH' ||
    code === 'HPE' ||
    (code === 'UND_ERR_SOCKET' && (thrown as Error).message === 'other side closed')
  if (phase === 'body' && endsEarly) return 'the body ends early'
  if (code === 'HPE' || code === 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH') {
    return 'the answer is not HTTP/1.1'
  }
  return undefined
}

/** The system's code of an error. Anything without one did not come from the network. */
function codeOf(thrown: unknown): string | undefined {
  if (!(thrown instanceof Error)) return undefined
  // The parser's own codes vary with the server's mistake, and are often missing.
  if (thrown.name === 'HTTPParserError') return 'HPE'
  const code = (thrown as NodeJS.ErrnoException).code
  return typeof code === 'string' && /^[A-Z][A-Z0-9_]*$/.test(code) ? code : undefined
}

function timeout(call: FailedCall, phase: TimeoutPhase, afterMs: number): UpstreamTimeoutError {
  return new UpstreamTimeoutError({ endpoint: call.endpoint, phase, afterMs })
}

function facts({ endpoint, status }: FailedCall) {
  return { endpoint, status }
}
