import type { AppError } from '../../platform/base/errors.ts'
import type { Scrub } from '../../platform/base/secrets.ts'
import {
  type TimeoutPhase,
  UpstreamAuthError,
  UpstreamContractError,
  UpstreamNetworkError,
  UpstreamRateLimitedError,
  UpstreamRedirectError,
  UpstreamStatusError,
  UpstreamTimeoutError,
  UpstreamTooLargeError,
} from '../upstream-errors.ts'
import { type BodyBeginning, quotable, snippetOf } from './body-snippet.ts'
import type { ResponseHead } from './response-receiver.ts'

// A problem (RFC 9457) is no result, whatever its status.
const JSON_TYPE = /^application\/(?!problem\+)(?:[\w.!#$&^+-]+\+)?json\s*(?:;|$)/i
const MAX_TYPE_CHARS = 60

/** Whether the answer is a 200 of JSON: the only answer whose body is read. A missing content type is not JSON. */
export function isJsonAnswer({ status, headers }: ResponseHead): boolean {
  return status === 200 && JSON_TYPE.test(headers['content-type'] ?? '')
}

interface RefusedAnswer extends ResponseHead, BodyBeginning {
  readonly retryAfterMs?: number | undefined
}

/** The error for an answer of another status or content type than the endpoint promises. */
export function errorOfAnswer(
  answer: RefusedAnswer,
  { endpoint, scrub }: { endpoint: string; scrub: Scrub },
): AppError {
  const { status, retryAfterMs } = answer
  const facts = { endpoint, status, snippet: snippetOf(answer, scrub) }
  if (status === 401 || status === 403 || isLoginPage(answer)) return new UpstreamAuthError(facts)
  if (status === 429) return new UpstreamRateLimitedError({ ...facts, retryAfterMs })
  if (status >= 400) return new UpstreamStatusError(facts)
  if (status >= 300 && status !== 304) return new UpstreamRedirectError(facts)
  if (status !== 200) return new UpstreamContractError({ ...facts, where: 'the status is not 200' })
  const type = quotable(answer.headers['content-type'] ?? '', scrub, MAX_TYPE_CHARS)
  const where = type ? `the content type is ${type}` : 'the content type is missing'
  return new UpstreamContractError({ ...facts, where })
}

const HTML_TYPE = /^(?:text\/html|application\/xhtml\+xml)\s*(?:;|$)/i
/** The length is bounded. Without the bound, a page of nothing but `<input` would take quadratic time. */
const PASSWORD_FIELD = /<input\b[^<>]{0,500}?\stype\s*=\s*["']?password\b/i
const LOGIN_PATH = /(?:^|[/_.-])(?:log-?in|sign-?in|auth)(?:[/_.-]|$)/i

/** Some upstreams answer an unknown credential as they answer a browser: with a login page. */
function isLoginPage({ status, headers, chunks }: RefusedAnswer): boolean {
  if (status >= 300 && status < 400) {
    const target = URL.parse(headers.location ?? '', 'http://upstream.invalid')
    return target !== null && LOGIN_PATH.test(target.pathname)
  }
  if (status !== 200 || !HTML_TYPE.test(headers['content-type'] ?? '')) return false
  return PASSWORD_FIELD.test(Buffer.concat(chunks).toString('latin1'))
}

interface FailedCall {
  readonly endpoint: string
  readonly phase: TimeoutPhase
  readonly status: number | undefined
  /** Whether the deadline ended the call. */
  readonly expired: boolean
  readonly deadlineMs: number
  readonly connectTimeoutMs: number
  /** The caller's own signal. */
  readonly signal: AbortSignal
}

/**
 * What to throw when undici, a socket or zlib threw: one of our errors; the caller's own reason if the caller
 * aborted; the thrown value itself if it is a bug of ours.
 *
 * Their errors are never kept as a cause: one holds the raw bytes of the answer, another the socket.
 */
export function errorOfThrown(thrown: unknown, call: FailedCall): unknown {
  const { endpoint, phase, status } = call
  if (call.expired) {
    return new UpstreamTimeoutError({ endpoint, phase, afterMs: call.deadlineMs })
  }
  if (call.signal.aborted) return call.signal.reason
  const code = codeOf(thrown)
  if (code === undefined) return thrown
  if (code === 'UND_ERR_CONNECT_TIMEOUT') {
    const afterMs = call.connectTimeoutMs
    return new UpstreamTimeoutError({ endpoint, phase: 'connection', afterMs })
  }
  if (code === 'UND_ERR_HEADERS_OVERFLOW') {
    return new UpstreamTooLargeError({ endpoint, what: 'the headers are too long' })
  }
  const where = violationOf(thrown, code, phase)
  if (where !== undefined) return new UpstreamContractError({ endpoint, status, where })
  return new UpstreamNetworkError({ endpoint, reason: code })
}

/** Tested with undici 8.12: which of its errors mean that the answer, and not the connection, is wrong. */
function violationOf(thrown: unknown, code: string, phase: TimeoutPhase): string | undefined {
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

/** The system's code of an error. An error without a code does not come from the network. */
function codeOf(thrown: unknown): string | undefined {
  if (!(thrown instanceof Error)) return undefined
  // The HTTP parser's own codes vary with the server's mistake and are often missing.
  if (thrown.name === 'HTTPParserError') return 'HPE'
  const code = (thrown as NodeJS.ErrnoException).code
  return typeof code === 'string' && /^[A-Z][A-Z0-9_]*$/.test(code) ? code : undefined
}
