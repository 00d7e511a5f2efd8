import { Pool } from 'undici'
import { UpstreamNetworkError } from '../upstream-errors.ts'
import { parseBaseUrl } from './base-url.ts'
import type { Credential } from './credential.ts'
import { startDeadline } from './deadline.ts'
import { type ResponseHead, ResponseReceiver } from './response-receiver.ts'
import { transportError } from './transport-errors.ts'

export interface HttpExchangeOptions {
  readonly baseUrl: string
  readonly credential: Credential
  readonly connectTimeoutMs: number
  readonly maxConnections: number
}

export interface ExchangeRequest {
  readonly endpoint: string
  /** Below the base URL, without the credential. */
  readonly path: string
  /** One limit for connection, headers and body together. */
  readonly deadlineMs: number
  readonly maxBodyBytes: number
  /** Beside, or in place of, those that every request has; lower case. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  readonly signal: AbortSignal
  /** Whether this answer's body is wanted. Of any other only the beginning is read, for the error. */
  wants(head: ResponseHead): boolean
  /** Called with each decoded chunk of a wanted body, which is only valid during the call. */
  readonly onChunk?: ((chunk: Uint8Array) => void) | undefined
}

export interface ExchangeAnswer extends ResponseHead {
  /** False: `chunks` holds only the beginning of the body, or nothing. */
  readonly wanted: boolean
  /** Whether the body is all there; always true of a wanted one. */
  readonly complete: boolean
  readonly chunks: readonly Uint8Array[]
  /** Decoded. */
  readonly bytes: number
  readonly wireBytes: number
  readonly headersMs: number
  readonly totalMs: number
}

export interface HttpExchange {
  /**
   * One GET. Any status is an answer; redirects are not followed.
   *
   * Throws our timeout, network, too-large and contract errors, or the caller's reason when it aborted.
   */
  get(request: ExchangeRequest): Promise<ExchangeAnswer>
  /** Ends what is in flight and closes the connections. */
  close(): Promise<void>
}

/** gzip alone: every server has it, and its window bounds the decoder's memory at 32 KB. */
const HEADERS = {
  accept: 'application/json',
  'accept-encoding': 'gzip',
  'user-agent': 'farewatch',
}

const NO_CONNECTION = 'NO_FREE_CONNECTION'

/** Opens the pool to the base URL's origin; nothing connects before the first call. */
export function createHttpExchange(options: HttpExchangeOptions): HttpExchange {
  const { origin, prefix } = parseBaseUrl(options.baseUrl)
  const pool = new Pool(origin, {
    connections: options.maxConnections,
    pipelining: 1,
    allowH2: false,
    connectTimeout: options.connectTimeoutMs,
    // Its own time limits count from the last byte, and a slow drip passes them: the deadline is ours.
    headersTimeout: 0,
    bodyTimeout: 0,
  })
  let calls = 0
  return {
    async get(request) {
      // The pool would send it when a connection is free again: after its slot, in a crowd of others.
      if (calls >= options.maxConnections) {
        throw new UpstreamNetworkError({ endpoint: request.endpoint, reason: NO_CONNECTION })
      }
      calls += 1
      try {
        return await get({ ...options, pool, prefix }, request)
      } finally {
        calls -= 1
      }
    },
    close: () => pool.destroy(),
  }
}

interface ExchangeDeps extends HttpExchangeOptions {
  readonly pool: Pool
  readonly prefix: string
}

function get(deps: ExchangeDeps, request: ExchangeRequest): Promise<ExchangeAnswer> {
  const { signal, deadlineMs, endpoint } = request
  const startedMs = performance.now()
  const deadline = startDeadline(deadlineMs, signal)
  let headersMs = 0
  return new Promise<ExchangeAnswer>((resolve, reject) => {
    const fail = (thrown: unknown) =>
      reject(
        transportError(thrown, {
          endpoint,
          phase: receiver.head ? 'body' : 'headers',
          status: receiver.head?.status,
          deadline,
          deadlineMs,
          connectTimeoutMs: deps.connectTimeoutMs,
          signal,
        }),
      )
    const receiver = new ResponseReceiver(request, {
      onHead: () => {
        headersMs = performance.now() - startedMs
      },
      onReceived: ({ head, ...body }) =>
        resolve({ ...head, ...body, headersMs, totalMs: performance.now() - startedMs }),
      onFailed: fail,
    })
    deadline.onEnd(() => {
      if (deadline.expired && receiver.expire()) return
      receiver.giveUp()
      fail(signal.reason)
    })
    if (!deadline.ended) send(deps, request, receiver)
  }).finally(() => deadline.stop())
}

/** The token joins the path here, and the joined text is handed to undici alone. */
function send(
  { pool, prefix, credential }: ExchangeDeps,
  { path, headers }: ExchangeRequest,
  receiver: ResponseReceiver,
): void {
  pool.dispatch(
    {
      method: 'GET',
      path: credential.authorize(`${prefix}${path}`),
      headers: { ...HEADERS, ...headers },
    },
    receiver,
  )
}
