import { buildConnector, Pool } from 'undici'
import { type Clock, systemClock } from '../../platform/base/clock.ts'
import { skipInterimAnswers } from '../../platform/base/interim-answers.ts'
import { retryAfterMs } from '../../platform/base/retry-after.ts'
import { NO_FREE_CONNECTION, UpstreamNetworkError } from '../upstream-errors.ts'
import { errorOfThrown } from './call-errors.ts'
import {
  type Received,
  type ReceiveOptions,
  type ResponseHead,
  ResponseReceiver,
} from './response-receiver.ts'

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

interface HttpExchangeOptions
  extends Pick<UpstreamLimits, 'connectTimeoutMs' | 'maxConnections' | 'maxRetryAfterMs'> {
  readonly baseUrl: string
  readonly accessToken: string | undefined
  readonly placeToken: PlaceToken
  readonly clock?: Clock
}

export interface HttpRequest extends ReceiveOptions {
  /** Below the base URL, without the credential. */
  readonly path: string
  /** One limit for connection, headers and body together. */
  readonly deadlineMs: number
  /** Added to the headers of every request, or in place of them. Lower case. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  readonly signal: AbortSignal
}

export interface HttpAnswer extends Received {
  /** The wait that a 429 or a 503 asked for, capped. Undefined if the answer named none. */
  readonly retryAfterMs: number | undefined
  readonly headersMs: number
  readonly totalMs: number
}

export interface HttpExchange {
  /**
   * Makes one GET request. Any status is an answer. Redirects are not followed.
   *
   * Throws our timeout, network, too-large and contract errors, or the caller's reason after an abort.
   */
  get(request: HttpRequest): Promise<HttpAnswer>
  /** Ends the calls in flight and closes the connections. */
  close(): Promise<void>
}

/** We accept gzip alone: every server supports it, and its window limits the decoder's memory to 32 KB. */
const HEADERS = {
  accept: 'application/json',
  'accept-encoding': 'gzip',
  'user-agent': 'farewatch',
}

/** Opens the pool to the base URL's origin. Nothing connects before the first call. */
export function createHttpExchange(
  options: HttpExchangeOptions,
): HttpExchange & Pick<Credential, 'replace'> {
  const { origin, prefix } = parseBaseUrl(options.baseUrl)
  const pool = new Pool(origin, {
    connections: options.maxConnections,
    pipelining: 1,
    connect: createConnector(options.connectTimeoutMs),
    // undici's own limits restart at each received byte, so a slow drip would pass them. The deadline replaces them.
    headersTimeout: 0,
    bodyTimeout: 0,
  })
  const { accessToken, placeToken, clock = systemClock, ...limits } = options
  const credential = createCredential(accessToken, placeToken)
  const deps = { ...limits, clock, pool, prefix, credential }
  let calls = 0
  return {
    async get(request) {
      // The pool would send the call once a connection is free: after its slot, together with other late calls.
      if (calls >= options.maxConnections) {
        throw new UpstreamNetworkError({ endpoint: request.endpoint, reason: NO_FREE_CONNECTION })
      }
      calls += 1
      try {
        return await get(deps, request)
      } finally {
        calls -= 1
      }
    },
    replace: deps.credential.replace,
    close: () => pool.destroy(),
  }
}

function createConnector(timeout: number): buildConnector.connector {
  const connect = buildConnector({ allowH2: false, timeout })
  return (target, callback) =>
    connect(target, (...result) => {
      const [error, socket] = result
      if (error !== null) callback(...result)
      else callback(null, skipInterimAnswers(socket))
    })
}

/**
 * Splits the upstream's base URL into its origin and its path, without a slash at the end.
 *
 * Throws a TypeError that does not quote the URL, because a user name or a query in it may be a credential.
 */
function parseBaseUrl(baseUrl: string): { origin: string; prefix: string } {
  const url = URL.parse(baseUrl)
  const web = url?.protocol === 'http:' || url?.protocol === 'https:'
  if (!url || !web || url.username || url.password || url.search || url.hash) {
    throw new TypeError(
      'the upstream base URL must be http or https, without user name, query and fragment',
    )
  }
  return { origin: url.origin, prefix: url.pathname.replace(/\/+$/, '') }
}

/** Where a request carries a token. */
interface TokenPlace {
  readonly query?: string
  readonly headers?: Readonly<Record<string, string>>
}
export type PlaceToken = (token: string) => TokenPlace

interface Authorized {
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
}

/**
 * The access token, hidden in a closure: no property, text form, JSON or inspection of this object shows it.
 * `authorize` is the only place of the program that adds a token to a request.
 */
interface Credential {
  /** Returns the path and headers to send: those of the request, with the token in its place if there is a token. */
  authorize(request: Authorized): Authorized
  /** Calls that begin from now on have this token. */
  replace(accessToken: string): void
}

export function createCredential(
  accessToken: string | undefined,
  placeToken: PlaceToken,
): Credential {
  const placeOf = (token?: string): TokenPlace => (token ? placeToken(token) : {})
  let place = placeOf(accessToken)
  return Object.freeze({
    replace: (token: string) => {
      place = placeOf(token)
    },
    authorize({ path, headers }: Authorized): Authorized {
      const { query } = place
      const asked = query && `${path}${path.includes('?') ? '&' : '?'}${query}`
      return { path: asked ?? path, headers: { ...headers, ...place.headers } }
    },
  })
}

interface ExchangeDeps extends Omit<HttpExchangeOptions, 'accessToken' | 'placeToken'> {
  readonly credential: Credential
  readonly pool: Pool
  readonly prefix: string
  readonly clock: Clock
}

function get(deps: ExchangeDeps, request: HttpRequest): Promise<HttpAnswer> {
  const { signal, deadlineMs, endpoint } = request
  const startedMs = performance.now()
  const deadline = startDeadline(deadlineMs, signal)
  let headersMs = 0
  return new Promise<HttpAnswer>((resolve, reject) => {
    const fail = (thrown: unknown) =>
      reject(
        errorOfThrown(thrown, {
          endpoint,
          phase: receiver.head ? 'body' : 'headers',
          status: receiver.head?.status,
          expired: deadline.expired,
          deadlineMs,
          connectTimeoutMs: deps.connectTimeoutMs,
          signal,
        }),
      )
    const receiver = new ResponseReceiver(request, {
      onHead: () => {
        headersMs = performance.now() - startedMs
      },
      onReceived: (received) => {
        const totalMs = performance.now() - startedMs
        const retryAfterMs = requestedWaitMs(deps, received)
        resolve({ ...received, retryAfterMs, headersMs, totalMs })
      },
      onFailed: fail,
    })
    deadline.onEnd(() => {
      if (deadline.expired && receiver.expire()) return
      receiver.abort()
      fail(signal.reason)
    })
    if (!deadline.ended) send(deps, request, receiver)
  }).finally(() => deadline.stop())
}

function requestedWaitMs(
  { clock, maxRetryAfterMs: maxMs }: ExchangeDeps,
  { status, headers }: ResponseHead,
): number | undefined {
  if (status !== 429 && status !== 503) return undefined
  return retryAfterMs(headers['retry-after'], { now: clock.now(), answeredAt: headers.date, maxMs })
}

/** Adds the token to the request. The combined text is passed to undici and to nothing else. */
function send(
  { pool, prefix, credential }: ExchangeDeps,
  { path, headers }: HttpRequest,
  receiver: ResponseReceiver,
): void {
  pool.dispatch(
    {
      method: 'GET',
      ...credential.authorize({ path: `${prefix}${path}`, headers: { ...HEADERS, ...headers } }),
    },
    receiver,
  )
}

/** One time limit over a whole call, joined with the caller's own signal. */
interface CallDeadline {
  /** Whether the time limit, and not the caller, ended the call. */
  readonly expired: boolean
  /** Whether the time limit has passed or the caller has aborted. */
  readonly ended: boolean
  /** Sets the one listener. It is called at once if the deadline has already ended. */
  onEnd(listener: () => void): void
  /** Ends the deadline after the call. It removes the timer and the listener on the caller's signal. */
  stop(): void
}

/**
 * Starts the time limit of a call.
 *
 * `AbortSignal.any([caller, AbortSignal.timeout(ms)])` is no alternative: it leaves a timer behind for each finished
 * call, and an entry on a caller's signal that lives as long as the process. An AbortController per call is none
 * either: each abort creates an exception with a stack, which is measurable at thousands of calls a second.
 */
function startDeadline(limitMs: number, caller: AbortSignal): CallDeadline {
  let listener: (() => void) | undefined
  let expired = false
  let ended = caller.aborted
  const end = () => {
    if (ended) return
    ended = true
    listener?.()
  }
  const timer = setTimeout(() => {
    expired = !caller.aborted
    end()
  }, limitMs)
  caller.addEventListener('abort', end, { once: true })
  return {
    get expired() {
      return expired
    },
    get ended() {
      return ended
    },
    onEnd(called) {
      listener = called
      if (ended) called()
    },
    stop() {
      clearTimeout(timer)
      caller.removeEventListener('abort', end)
    },
  }
}
