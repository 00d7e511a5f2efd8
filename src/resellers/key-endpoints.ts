import { Type } from 'typebox'
import type { Clock } from '../base/clock.ts'
import type { Logger } from '../base/logger.ts'
import type { Db } from '../db/database.ts'
import { logOperation } from '../http/audit-log.ts'
import { operations } from '../http/operation.ts'
import { cursorsOf, pageOf, pageParameters } from '../http/pages.ts'
import { ProblemError } from '../http/problems.ts'
import { Instant, MAX_WHOLE_NUMBER, object, oneOf, orNull } from '../http/schemas.ts'
import { createApiKey, listApiKeys, revokeApiKey } from './api-keys.ts'
import { requireReseller } from './resellers.ts'

const { operator } = operations<{ readonly db: Db; readonly clock: Clock; readonly log: Logger }>()

const KeyId = Type.Integer({ minimum: 1, maximum: MAX_WHOLE_NUMBER })
const Scope = oneOf(['read', 'watch', 'operate'])
const MaybeInstant = orNull(Instant)
const MaybeReseller = orNull(
  Type.String({ minLength: 1, maxLength: 200 }),
  'The name of the reseller whose key it is; null for an operator’s.',
)

const key = {
  id: KeyId,
  reseller: MaybeReseller,
  scopes: Type.Array(Scope),
  prefix: Type.String({ description: 'The first characters of the key.' }),
  createdAt: Instant,
  expiresAt: MaybeInstant,
  revokedAt: MaybeInstant,
  lastUsedAt: orNull(Instant, 'To the minute; null while it was never used.'),
}
const ApiKey = object(key)

const cursors = cursorsOf('keys', KeyId)
const common = { tag: 'Operators', scope: 'operate' } as const

const listAll = operator({
  ...common,
  id: 'listKeys',
  method: 'GET',
  path: '/api/v1/keys',
  summary: 'All keys by their first characters, the oldest first; the ended ones too',
  query: object(pageParameters({ preset: 50, max: 1000 })),
  answer: { about: 'A page of keys.', schema: pageOf(ApiKey) },
  problems: ['request.invalid_cursor'],
  example: { query: { limit: '2' } },
  handler: async ({ db }, { query: { limit, cursor } }) => {
    const after = cursors.read(cursor, null)
    const keys = await listApiKeys(db, { after, limit: limit + 1 })
    const page = cursors.page(keys, { limit, bound: null, positionOf: ({ id }) => id })
    return { ...page, items: page.items.map((shown) => ({ ...shown, scopes: [...shown.scopes] })) }
  },
})

const create = operator({
  ...common,
  id: 'createKey',
  method: 'POST',
  path: '/api/v1/keys',
  summary: 'Make a key',
  description: 'Its text is in the answer, this once: only a hash of it is kept.',
  body: object({
    reseller: MaybeReseller,
    scopes: Type.Optional(
      Type.Array(Scope, {
        minItems: 1,
        description:
          'Of a reseller’s key some of read and watch, of an operator’s some of read and operate; all of these where missing.',
      }),
    ),
    expiresAt: Type.Optional(
      Type.String({ format: 'date-time', description: 'When it ends; never where missing.' }),
    ),
  }),
  answer: {
    about: 'The key.',
    status: 201,
    schema: object({ ...key, key: Type.String() }),
  },
  problems: ['watch.unknown_reseller', 'access.scope_not_grantable'],
  example: { body: { reseller: 'alpha', scopes: ['read'] } },
  handler: async ({ db, clock, log }, { body, caller, request }) => {
    const expiresAt = readEnd(body.expiresAt, clock)
    const resellerId = body.reseller === null ? null : (await requireReseller(db, body.reseller)).id
    const made = await createApiKey(db, { resellerId, scopes: body.scopes, expiresAt })
    logOperation(log, { caller, request }, { event: 'key created', keyId: made.key.id })
    return { ...made.key, scopes: [...made.key.scopes], key: made.text }
  },
})

const revoke = operator({
  ...common,
  id: 'revokeKey',
  method: 'POST',
  path: '/api/v1/keys/{keyId}/revoke',
  summary: 'End a key for good, in every process within a second',
  description: 'Again changes nothing.',
  params: object({ keyId: KeyId }),
  answer: { about: 'The key, which is revoked now.', schema: ApiKey },
  problems: ['access.no_such_key'],
  example: { params: { keyId: '1' } },
  handler: async ({ db, log }, { params: { keyId }, caller, request }) => {
    const revoked = await revokeApiKey(db, keyId)
    logOperation(log, { caller, request }, { event: 'key revoked', keyId })
    return { ...revoked, scopes: [...revoked.scopes] }
  },
})

/** What comes later is written with more than four digits of a year, and is no `date-time` any more. */
const LAST_INSTANT = new Date('9999-12-31T23:59:59.999Z')

function readEnd(text: string | undefined, clock: Clock): Date | undefined {
  if (text === undefined) return undefined
  const end = new Date(text)
  if (end > clock.now() && end <= LAST_INSTANT) return end
  throw new ProblemError('request.invalid_body', {
    pointer: '/expiresAt',
    detail:
      'expiresAt must be an instant that lies ahead, before the year 10000 of UTC, such as 2030-01-31T12:00:00Z',
  })
}

/** The keys, for who runs the service. */
export const KEY_OPERATIONS = [listAll, create, revoke]
