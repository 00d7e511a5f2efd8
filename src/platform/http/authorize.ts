import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Access, Caller, KeyCheck, Operation } from './operation.ts'
import { ProblemError } from './problems.ts'
import type { RateLimit } from './rate-limit.ts'

export interface AuthorizeDeps {
  readonly access: Access
  readonly limit: RateLimit
}

type Requirements = Pick<Operation<never>, 'method' | 'scope' | 'audience' | 'upstream'>

/** The query parameter in which the upstream's own interface takes its credential. */
export const TOKEN_PARAMETER = 'accessToken'
const KEY_START = 'fwk_'
const BEARER = /^bearer +(\S+) *$/i
const CHALLENGE = 'Bearer realm="farewatch"'

/**
 * Identifies the caller of a request and checks that it may call the operation. The order is key, rate limit, scope,
 * and all of it comes before the request is parsed: a caller without permission learns nothing about its parameters.
 */
export async function authorize(
  { access, limit }: AuthorizeDeps,
  required: Requirements,
  { request, reply }: { request: FastifyRequest; reply: FastifyReply },
): Promise<Caller> {
  refuseKeyInQuery(required, request)
  const found = await identify(access, required, request)
  if (typeof found === 'string') {
    await countRequest(limit, `address ${request.ip}`, reply)
    throw unauthorized(found)
  }
  if (found.demo) {
    assertLocal(request)
    reply.header('farewatch-demo', 'open without a key until the first one is created')
  }
  await countRequest(limit, found.demo ? `address ${request.ip}` : found.limitKey, reply)
  assertAllowed(required, found)
  return found
}

/**
 * Checks that the caller may still call the operation. Operations that wait call it before they answer, because the
 * key may have been revoked meanwhile. It does not count against the rate limit, and the key is mostly cached.
 */
export async function reauthorize(
  { access }: Pick<AuthorizeDeps, 'access'>,
  required: Requirements,
  request: FastifyRequest,
): Promise<void> {
  const found = await identify(access, required, request)
  if (typeof found === 'string') throw unauthorized(found)
  assertAllowed(required, found)
}

type Unauthenticated = Exclude<KeyCheck, Caller> | 'missing'

async function identify(
  access: Access,
  required: Requirements,
  request: FastifyRequest,
): Promise<Caller | Unauthenticated> {
  const key = keyOf(required, request)
  // A malformed credential is not treated like a missing one: the client meant to authenticate.
  if (key === '') return 'missing'
  const found = key === undefined ? await access.callerWithoutKey() : await access.callerOf(key)
  return found ?? 'missing'
}

/** Refuses a key in the address, because addresses end up in histories, logs and referrers. */
function refuseKeyInQuery({ upstream }: Requirements, request: FastifyRequest): void {
  for (const [name, value] of Object.entries(request.query as Record<string, unknown>)) {
    if (name === TOKEN_PARAMETER && upstream === true) continue
    const holdsKey = [name, value].flat().some((text) => String(text).startsWith(KEY_START))
    if (name !== TOKEN_PARAMETER && !holdsKey) continue
    throw new ProblemError('request.key_in_query', {
      parameter: name === TOKEN_PARAMETER ? name : undefined,
      detail: 'send the key as "Authorization: Bearer …", and revoke it if others saw the address',
    })
  }
}

/** The key of a request; undefined if it has none, '' if its Authorization header is not a bearer token. */
function keyOf({ upstream }: Requirements, { headers, query }: FastifyRequest): string | undefined {
  if (headers.authorization !== undefined) return BEARER.exec(headers.authorization)?.[1] ?? ''
  const token = upstream === true ? (query as Record<string, unknown>)[TOKEN_PARAMETER] : undefined
  if (Array.isArray(token)) {
    throw new ProblemError('request.doubled_parameter', { parameter: TOKEN_PARAMETER })
  }
  return typeof token === 'string' ? token : undefined
}

/**
 * Counts a request against a limit and sets the rate-limit headers. Rejects once the limit is used up, after a
 * pause.
 */
export async function countRequest(
  { take, quota, windowSeconds, pause }: RateLimit,
  key: string,
  reply: FastifyReply,
): Promise<void> {
  const { allowed, remaining, resetSeconds, retryAfterSeconds } = take(key)
  reply.header('ratelimit-policy', `"default";q=${quota};w=${windowSeconds}`)
  reply.header('ratelimit', `"default";r=${remaining};t=${resetSeconds}`)
  if (allowed) return
  await pause()
  throw new ProblemError('access.too_many_requests', {
    headers: { 'retry-after': String(retryAfterSeconds) },
    detail: `${quota} requests may be made at once, and as many again in ${windowSeconds} seconds`,
  })
}

function unauthorized(what: Unauthenticated): ProblemError {
  if (what === 'missing') {
    return new ProblemError('access.no_key', {
      headers: { 'www-authenticate': CHALLENGE },
      detail: 'send a key as "Authorization: Bearer …"',
    })
  }
  const headers = { 'www-authenticate': `${CHALLENGE}, error="invalid_token"` }
  if (what === 'mistyped') return new ProblemError('access.mistyped_key', { headers })
  return new ProblemError('access.unknown_key', { headers })
}

function assertAllowed({ method, scope, audience }: Requirements, caller: Caller): void {
  // The open demo shows everything to the person at this machine, so that it can be tried without a key.
  if (caller.demo && method === 'GET' && audience !== 'resellers') return
  if (!caller.scopes.includes(scope)) {
    throw new ProblemError('access.missing_scope', {
      headers: {
        'www-authenticate': `${CHALLENGE}, error="insufficient_scope", scope="${scope}"`,
      },
      detail: `the scope ${scope} is needed`,
    })
  }
  if (audience === 'resellers' && caller.kind !== 'reseller') {
    throw new ProblemError('access.resellers_only')
  }
}

const LOCAL_NAMES = new Set(['localhost', '127.0.0.1', '[::1]'])
/** Headers that only proxies and content networks add. */
const FORWARDED =
  /^(forwarded|via|cdn-loop|x-(forwarded|original|envoy|amzn?|azure|proxy)(-.*)?|cf-.*|(x-)?(real|client|cluster-client|true-client|fastly-client)-ip)$/
/** The values of Sec-Fetch-Site for a request from our own page or from the address bar. */
const OWN_SITES = new Set(['same-origin', 'none'])

/**
 * Refuses requests without a key that a foreign web page, open in a browser on this machine, could send, and those that
 * a proxy forwards for another machine.
 *
 * `Host` must name this machine: after DNS rebinding it names the page's own domain. `Origin` and `Sec-Fetch-Site`
 * must not be foreign: a page may send simple requests to any address.
 */
function assertLocal({ headers, raw }: FastifyRequest): void {
  const { host = '', origin } = headers
  const forwarded = Object.keys(headers).find((name) => FORWARDED.test(name))
  if (forwarded !== undefined) {
    throw notLocal(forwarded, 'without a key no request that a proxy forwards is answered')
  }
  if (raw.httpVersion === '1.0') {
    throw notLocal('HTTP/1.0', 'without a key only HTTP/1.1 is answered, because proxies use 1.0')
  }
  const hostname = host.replace(/:\d{1,5}$/, '').toLowerCase()
  if (!LOCAL_NAMES.has(hostname)) {
    throw notLocal('Host', 'without a key the address must be of localhost, 127.0.0.1 or [::1]')
  }
  if (origin !== undefined && origin !== `http://${host}`) {
    throw notLocal('Origin', 'without a key no page of another origin is answered')
  }
  const site = headers['sec-fetch-site']
  if (site !== undefined && !OWN_SITES.has(String(site))) {
    throw notLocal('Sec-Fetch-Site', 'without a key no page of another site is answered')
  }
}

function notLocal(parameter: string, detail: string): ProblemError {
  return new ProblemError('access.not_local', { parameter, detail })
}
