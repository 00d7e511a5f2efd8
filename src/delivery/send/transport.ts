import { Agent } from 'undici'
import { type Clock, systemClock } from '../../platform/base/clock.ts'
import { retryAfterMs } from '../../platform/base/retry-after.ts'
import type { Scrub } from '../../platform/base/secrets.ts'
import { type PostTarget, readAnswer, secretsOfTarget } from './answer-text.ts'
import {
  BlockedAddressError,
  createGuardedConnector,
  type Resolve,
  resolveInDns,
  UnresolvedHostError,
} from './guarded-connector.ts'
import { type TargetPolicy, urlFault } from './target-policy.ts'

/** How one request ended. `http_…` is the class of the status. */
export const SEND_OUTCOMES = [
  'ok',
  'http_3xx',
  'http_4xx',
  'http_5xx',
  'gone',
  'blocked',
  'timeout',
  'dns',
  'connect',
  'reset',
  'tls',
  'malformed',
] as const
export type SendOutcome = (typeof SEND_OUTCOMES)[number]

/** How a POST ended, in the terms of a format's `SendResult`. */
export type PostResult = { readonly status: number | null; readonly answer: string } & (
  | { readonly kind: 'delivered' }
  | { readonly kind: 'failed'; readonly outcome: SendOutcome; readonly retryAfterMs?: number }
  | { readonly kind: 'gone' | 'blocked'; readonly outcome: SendOutcome }
)

export interface PostBody {
  /** Lower case. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

export interface Transport {
  /**
   * Sends one POST to the target's address and reads the beginning of the answer. Redirects are not followed, and no
   * proxy is used. Rejects with the signal's reason after an abort; every other failure is a result.
   */
  post(target: PostTarget, body: PostBody, signal: AbortSignal): Promise<PostResult>
  /** Ends the requests in flight and closes the connections. */
  close(): Promise<void>
}

export interface TransportOptions {
  readonly policy: TargetPolicy
  /** Masks the secrets of farewatch itself. */
  readonly scrub: Scrub
  readonly clock?: Clock
  readonly resolve?: Resolve
  /** One limit for name, connection, request and answer together. */
  readonly deadlineMs?: number
}

const DEADLINE_MS = 15_000
const CONNECT_TIMEOUT_MS = 10_000
const MAX_RETRY_AFTER_MS = 86_400_000
const HEADERS = { 'content-type': 'application/json', 'user-agent': 'farewatch' }

export function createTransport(options: TransportOptions): Transport {
  const { policy, resolve = resolveInDns, deadlineMs = DEADLINE_MS } = options
  const connect = createGuardedConnector({
    allowedNetworks: policy.allowedNetworks,
    resolve,
    timeoutMs: CONNECT_TIMEOUT_MS,
  })
  // The deadline replaces undici's own limits, which restart at each received byte.
  const agent = new Agent({
    connect,
    allowH2: false,
    pipelining: 1,
    headersTimeout: 0,
    bodyTimeout: 0,
  })
  return {
    post: async (target, body, signal) => {
      if (urlFault(target.address, policy) !== undefined) return blocked
      signal.throwIfAborted()
      const ending = new AbortController()
      const end = () => ending.abort()
      const timer = setTimeout(end, deadlineMs)
      signal.addEventListener('abort', end, { once: true })
      try {
        return await send({ ...options, agent, ending: ending.signal }, target, body)
      } catch (thrown) {
        signal.throwIfAborted()
        return resultOfThrown(thrown, ending.signal)
      } finally {
        clearTimeout(timer)
        signal.removeEventListener('abort', end)
      }
    },
    close: () => agent.destroy(),
  }
}

interface SendDeps extends Pick<TransportOptions, 'scrub' | 'clock'> {
  readonly agent: Agent
  readonly ending: AbortSignal
}

async function send(
  { agent, ending, scrub, clock = systemClock }: SendDeps,
  target: PostTarget,
  { headers, body }: PostBody,
): Promise<PostResult> {
  const { origin, pathname, search } = new URL(target.address)
  const response = await agent.request({
    origin,
    path: `${pathname}${search}`,
    method: 'POST',
    headers: { ...HEADERS, ...headers },
    body,
    signal: ending,
  })
  const { statusCode: status, headers: given } = response
  const answer = await readAnswer(response, { scrub, secrets: secretsOfTarget(target) })
  if (status >= 200 && status < 300) return { kind: 'delivered', status, answer }
  if (status === 410) return { kind: 'gone', outcome: 'gone', status, answer }
  const waitMs = retryAfterMs(first(given['retry-after']), {
    now: clock.now(),
    answeredAt: first(given.date),
    maxMs: MAX_RETRY_AFTER_MS,
  })
  const outcome = classOf(status)
  return {
    kind: 'failed',
    outcome,
    status,
    answer,
    ...(waitMs === undefined ? {} : { retryAfterMs: waitMs }),
  }
}

function first(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header[0] : header
}

function classOf(status: number): SendOutcome {
  if (status < 400) return 'http_3xx'
  return status < 500 ? 'http_4xx' : 'http_5xx'
}

const blocked = { kind: 'blocked', outcome: 'blocked', status: null, answer: '' } as const

function resultOfThrown(thrown: unknown, ending: AbortSignal): PostResult {
  if (thrown instanceof BlockedAddressError) return blocked
  const outcome = ending.aborted ? 'timeout' : outcomeOf(thrown)
  if (outcome === undefined) throw thrown
  return { kind: 'failed', outcome, status: null, answer: '' }
}

const OUTCOMES_BY_CODE: Readonly<Record<string, SendOutcome>> = {
  UND_ERR_CONNECT_TIMEOUT: 'timeout',
  ETIMEDOUT: 'timeout',
  ECONNREFUSED: 'connect',
  EHOSTUNREACH: 'connect',
  ENETUNREACH: 'connect',
  EADDRNOTAVAIL: 'connect',
  ECONNRESET: 'reset',
  EPIPE: 'reset',
  UND_ERR_SOCKET: 'reset',
  EPROTO: 'tls',
}
const TLS_CODE = /CERT|SSL|TLS|SIGNATURE/

/** The outcome of what undici or a socket threw. An error without a code does not come from the network. */
function outcomeOf(thrown: unknown): SendOutcome | undefined {
  if (thrown instanceof UnresolvedHostError) return 'dns'
  if (!(thrown instanceof Error)) return undefined
  const { code } = thrown as NodeJS.ErrnoException
  if (thrown.name === 'HTTPParserError') return 'malformed'
  if (typeof code !== 'string') return undefined
  return OUTCOMES_BY_CODE[code] ?? (TLS_CODE.test(code) ? 'tls' : 'malformed')
}
