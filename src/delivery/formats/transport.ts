import type { Readable } from 'node:stream'
import { Agent } from 'undici'
import { type Clock, systemClock } from '../../platform/base/clock.ts'
import { retryAfterMs } from '../../platform/base/retry-after.ts'
import { MIN_SECRET_CHARS, type Scrub } from '../../platform/base/secrets.ts'
import { cleanText, percentDecoded } from '../../platform/base/text.ts'
import { BLOCKED, type PostResult, type Target, TLS_CODE } from './format.ts'
import {
  BlockedAddressError,
  createGuardedConnector,
  MAX_URL_CHARS,
  type Resolve,
  resolveInDns,
  type TargetPolicy,
  UnresolvedHostError,
  urlFault,
} from './target-policy.ts'

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
  post(target: Target, body: PostBody, signal: AbortSignal): Promise<PostResult>
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
      if (urlFault(target.address, policy) !== undefined) return BLOCKED
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
  target: Target,
  { headers, body }: PostBody,
): Promise<PostResult> {
  const { origin, pathname, search } = new URL(target.address)
  const response = await agent.request({
    origin,
    path: `${pathname}${search}`,
    method: 'POST',
    headers: { ...HEADERS, ...target.headers, ...headers },
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

function classOf(status: number): string {
  if (status < 400) return 'http_3xx'
  return status < 500 ? 'http_4xx' : 'http_5xx'
}

function resultOfThrown(thrown: unknown, ending: AbortSignal): PostResult {
  if (thrown instanceof BlockedAddressError) return BLOCKED
  const outcome = ending.aborted ? 'timeout' : outcomeOf(thrown)
  if (outcome === undefined) throw thrown
  return { kind: 'failed', outcome, status: null, answer: '' }
}

const OUTCOMES_BY_CODE: Readonly<Record<string, string>> = {
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

/** The outcome of what undici or a socket threw. An error without a code does not come from the network. */
function outcomeOf(thrown: unknown): string | undefined {
  if (thrown instanceof UnresolvedHostError) return 'dns'
  if (!(thrown instanceof Error)) return undefined
  const { code } = thrown as NodeJS.ErrnoException
  if (thrown.name === 'HTTPParserError') return 'malformed'
  if (typeof code !== 'string') return undefined
  return OUTCOMES_BY_CODE[code] ?? (TLS_CODE.test(code) ? 'tls' : 'malformed')
}

const MAX_READ_BYTES = 65_536
const MAX_KEPT_CHARS = 1_024
/** The status decides the result, so the body is not worth a longer wait. */
const BODY_WAIT_MS = 1_000

interface Received {
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: Readable
}

/**
 * The first kilobyte of an answer as text without secrets. Reads at most 64 KB, for at most a second; if the body is
 * longer or breaks off, the connection is dropped. We request no encoding, so an encoded body is not shown.
 */
async function readAnswer(
  { headers, body }: Received,
  { scrub, secrets }: { readonly scrub: Scrub; readonly secrets: readonly string[] },
): Promise<string> {
  const { text, whole } = await readBeginning(body)
  if (headers['content-encoding'] !== undefined) return ''
  const masked = maskAll(scrub(text), secrets)
  // A cut may split a secret, and half of it would not be recognized: the end of a cut text is never shown.
  const shown = whole ? masked : masked.slice(0, -MAX_URL_CHARS)
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these must not reach a terminal
  const flat = shown.replace(/[\s\u0000-\u001f\u007f-\u009f]+/g, ' ').trim()
  return cleanText(flat, MAX_KEPT_CHARS)
}

async function readBeginning(body: Readable): Promise<{ text: string; whole: boolean }> {
  const chunks: Buffer[] = []
  let bytes = 0
  const timer = setTimeout(() => body.destroy(), BODY_WAIT_MS)
  try {
    for await (const chunk of body as AsyncIterable<Buffer>) {
      chunks.push(chunk)
      bytes += chunk.length
      if (bytes > MAX_READ_BYTES) break
    }
  } catch {
    bytes = Number.POSITIVE_INFINITY
  } finally {
    clearTimeout(timer)
  }
  const text = Buffer.concat(chunks).subarray(0, MAX_READ_BYTES).toString('utf8')
  return { text, whole: bytes <= MAX_READ_BYTES }
}

/**
 * What an answer must not repeat of a target: its signing secrets, and the parts of its URL behind the host, which
 * often hold a token. Shorter parts would mask ordinary words.
 */
function secretsOfTarget({ address, secrets, headers }: Target): string[] {
  const url = URL.parse(address)
  if (url === null) return [address, ...secrets]
  const given = Object.values(headers)
  const { pathname, search, searchParams } = url
  const query = search.slice(1)
  const pairs = query.split('&')
  const values = pairs.map((pair) => pair.slice(pair.indexOf('=') + 1))
  // Pages of errors escape the query for HTML or JSON.
  const escaped = ['&amp;', '\\u0026'].map((separator) => query.replaceAll('&', separator))
  const whole = [pathname + search, pathname, query, ...escaped]
  const raw = [...whole, ...pathname.split('/'), ...pairs, ...values]
  const decoded = [...raw.map(percentDecoded), ...searchParams.values()]
  const keys = secrets.map((secret) => secret.replace(/^whsec_/, ''))
  const words = given.flatMap((value) => [value, ...value.split(/\s+/)])
  return [...new Set([...raw, ...decoded, ...keys, ...words])].filter(
    (part) => part.length >= MIN_SECRET_CHARS,
  )
}

/**
 * Masks the given texts literally. The encodings that `createScrub` finds cost 12 ms and a megabyte for each
 * target, and only the reseller that owns the target and operators read its answers.
 */
function maskAll(text: string, secrets: readonly string[]): string {
  if (text.length < MIN_SECRET_CHARS || secrets.length === 0) return text
  const longestFirst = secrets.toSorted((a, b) => b.length - a.length)
  return text.replace(new RegExp(longestFirst.map(RegExp.escape).join('|'), 'gi'), '[redacted]')
}
