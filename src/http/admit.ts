import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Access, Caller, KeyCheck } from './caller.ts'
import { assertLocal } from './local-only.ts'
import type { Operation } from './operation.ts'
import { ProblemError } from './problems.ts'
import type { RateLimit } from './rate-limit.ts'

export interface AdmitDeps {
  readonly access: Access
  readonly limit: RateLimit
}

type Asked = Pick<Operation<never>, 'scope' | 'audience' | 'upstream'>

/** The parameter in which the upstream's own interface takes its credential. */
export const TOKEN_PARAMETER = 'accessToken'
const KEY_START = 'fwk_'
const BEARER = /^bearer +(\S+) *$/i
const CHALLENGE = 'Bearer realm="farewatch"'

/**
 * Finds out who asks, and whether they may: key, rate, scope, in this order, so that a request without a right to an
 * answer is told nothing of what was wrong with the rest of it.
 */
export async function admit(
  { access, limit }: AdmitDeps,
  asked: Asked,
  { request, reply }: { request: FastifyRequest; reply: FastifyReply },
): Promise<Caller> {
  refuseKeyInQuery(asked, request)
  const found = await identify(access, asked, request)
  if (typeof found === 'string') {
    spend(limit, `address ${request.ip}`, reply)
    throw unauthorized(found)
  }
  if (found.demo) {
    assertLocal(request)
    reply.header('farewatch-demo', 'open without a key until the first one is created')
  }
  spend(limit, found.demo ? `address ${request.ip}` : found.limitKey, reply)
  assertAllowed(asked, found)
  return found
}

/**
 * Finds out whether whoever was admitted still would be. For requests that wait: a key may have ended meanwhile, and
 * an answer after that would be nobody's. Costs no request of the limit, and seldom a question to the database.
 */
export async function readmit(
  { access }: Pick<AdmitDeps, 'access'>,
  asked: Asked,
  request: FastifyRequest,
): Promise<void> {
  const found = await identify(access, asked, request)
  if (typeof found === 'string') throw unauthorized(found)
  assertAllowed(asked, found)
}

type Stranger = Exclude<KeyCheck, Caller> | 'missing'

async function identify(
  access: Access,
  asked: Asked,
  request: FastifyRequest,
): Promise<Caller | Stranger> {
  const key = keyOf(asked, request)
  // Not as the demo: whoever sends something wants to be somebody.
  if (key === '') return 'missing'
  const found = key === undefined ? await access.callerWithoutKey() : await access.callerOf(key)
  return found ?? 'missing'
}

/** A key in an address ends in histories, logs and referrers: it is refused before anything else is looked at. */
function refuseKeyInQuery({ upstream }: Asked, request: FastifyRequest): void {
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

/** Empty where there is something in a key's place that is none. */
function keyOf({ upstream }: Asked, { headers, query }: FastifyRequest): string | undefined {
  if (headers.authorization !== undefined) return BEARER.exec(headers.authorization)?.[1] ?? ''
  const token = upstream === true ? (query as Record<string, unknown>)[TOKEN_PARAMETER] : undefined
  if (Array.isArray(token)) {
    throw new ProblemError('request.doubled_parameter', { parameter: TOKEN_PARAMETER })
  }
  return typeof token === 'string' ? token : undefined
}

/** Counts the request, says in the answer what is left, and refuses it where nothing is. */
export function spend({ take, quota, windowSeconds }: RateLimit, key: string, reply: FastifyReply) {
  const { allowed, remaining, resetSeconds, retryAfterSeconds } = take(key)
  reply.header('ratelimit-policy', `"default";q=${quota};w=${windowSeconds}`)
  reply.header('ratelimit', `"default";r=${remaining};t=${resetSeconds}`)
  if (allowed) return
  throw new ProblemError('access.too_many_requests', {
    headers: { 'retry-after': String(retryAfterSeconds) },
    detail: `${quota} requests may be made at once, and as many again in ${windowSeconds} seconds`,
  })
}

function unauthorized(what: Stranger): ProblemError {
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

function assertAllowed({ scope, audience }: Asked, caller: Caller): void {
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
