import type { FastifyReply, FastifyRequest } from 'fastify'
import { OPERATORS } from '../base/kinds.ts'
import { percentDecoded } from '../base/text.ts'
import type { Access, Caller, KeyCheck, Operation, UnknownCaller } from './operation.ts'
import { ProblemError } from './problems.ts'
import { TOKEN_PARAMETER } from './read-parameters.ts'
import type { RequestLimits } from './request-limits.ts'

export interface AuthorizeDeps {
  readonly access: Access
  readonly limits: Pick<RequestLimits, 'count'>
}

type Requirements = Pick<Operation<never>, 'scope' | 'audience' | 'upstream' | 'ofEndpoints'>

/** The header in which an operator names the reseller for whom it calls. */
export const RESELLER_HEADER = 'farewatch-reseller'
const KEY_START = 'fwk_'
const BEARER = /^bearer +(\S+) *$/i
const CHALLENGE = 'Bearer realm="farewatch"'

/**
 * Identifies the caller of a request and checks that it may call the operation. The order is key, rate limit, scope,
 * and all of it comes before the request is parsed: a caller without permission learns nothing about its parameters.
 */
export async function authorize(
  { access, limits }: AuthorizeDeps,
  required: Requirements,
  { request, reply }: { request: FastifyRequest; reply: FastifyReply },
): Promise<Caller | UnknownCaller> {
  refuseKeyInQuery(required, request)
  if (required.audience === 'everybody') {
    await limits.count(request, reply)
    return { kind: 'unknown', scopes: [], limitKey: `address ${request.ip}` }
  }
  const found = await identify(access, required, request)
  await limits.count(request, reply, typeof found === 'string' ? undefined : found.limitKey)
  if (typeof found === 'string') throw unauthorized(found)
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
  const name = request.headers[RESELLER_HEADER]?.toString()
  if (key === undefined) return 'missing'
  return access.callerOf(key, name === undefined ? undefined : percentDecoded(name))
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

/** The key of a request; undefined if it has none. */
export function keyOf(
  { upstream }: Requirements,
  { headers, query }: FastifyRequest,
): string | undefined {
  if (headers.authorization !== undefined) return BEARER.exec(headers.authorization)?.[1]
  const token = upstream === true ? (query as Record<string, unknown>)[TOKEN_PARAMETER] : undefined
  if (Array.isArray(token)) {
    throw new ProblemError('request.doubled_parameter', { parameter: TOKEN_PARAMETER })
  }
  return typeof token === 'string' ? token : undefined
}

function unauthorized(what: Unauthenticated): ProblemError {
  if (what === 'missing') {
    return new ProblemError('access.no_key', {
      headers: { 'www-authenticate': CHALLENGE },
      detail: 'send a key as "Authorization: Bearer …"',
    })
  }
  const headers = { 'www-authenticate': `${CHALLENGE}, error="invalid_token"` }
  if (what === 'mistyped') {
    const detail = 'send the whole key, as it was printed when it was made'
    return new ProblemError('access.mistyped_key', { headers, detail })
  }
  return new ProblemError('access.unknown_key', { headers })
}

function assertAllowed({ scope, audience, ofEndpoints }: Requirements, caller: Caller): void {
  if (scope !== 'any' && !caller.scopes.includes(scope)) {
    throw new ProblemError('access.missing_scope', {
      headers: {
        'www-authenticate': `${CHALLENGE}, error="insufficient_scope", scope="${scope}"`,
      },
      detail: `the scope ${scope} is needed`,
    })
  }
  const isOwner = caller.kind === 'reseller' && (ofEndpoints || caller.resellerId !== OPERATORS.id)
  if (audience === 'resellers' && !isOwner) {
    throw new ProblemError('access.resellers_only')
  }
}
