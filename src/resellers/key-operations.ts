import { Type } from 'typebox'
import type { Clock } from '../platform/base/clock.ts'
import { SCOPES } from '../platform/base/kinds.ts'
import type { Logger } from '../platform/base/logger.ts'
import { recordOperation } from '../platform/db/audit.ts'
import type { Db } from '../platform/db/database.ts'
import { logOperation, operations } from '../platform/http/operation.ts'
import { cursorsOf, PAGED, type PagePosition, pageOf } from '../platform/http/pages.ts'
import { ProblemError } from '../platform/http/problems.ts'
import { Instant, instant, object, oneOf, orNull, RowId } from '../platform/http/schemas.ts'
import { createApiKey, listApiKeys, listOwnKeys, requireApiKey, revokeApiKey } from './api-keys.ts'
import { requireReseller } from './resellers.ts'
import { rotateApiKey } from './rotate-key.ts'
import { CODE_MINUTES, createSignInCode, exchangeCode, signInLink, signOut } from './sign-in.ts'

const { open, operator, reseller, shared } = operations<{
  readonly db: Db
  readonly clock: Clock
  readonly log: Logger
  readonly publicUrl?: string | undefined
}>()

const Scope = oneOf(SCOPES, { title: 'Scope' })
const MaybeInstant = orNull(Instant)
const MaybeReseller = orNull(
  Type.String({ minLength: 1, maxLength: 200 }),
  'The name of the reseller that owns the key. Null for an operator’s key.',
)

const members = {
  id: RowId,
  reseller: MaybeReseller,
  scopes: Type.Array(Scope),
  prefix: Type.String({ description: 'The first characters of the key.' }),
  createdAt: Instant,
  expiresAt: MaybeInstant,
  revokedAt: MaybeInstant,
  lastUsedAt: orNull(Instant, 'Accurate to the minute. Null if the key was never used.'),
}
const ApiKey = object(members, { title: 'Key' })

const cursors = cursorsOf('keys', RowId, ({ id }: { id: number }) => id)
const common = { tag: 'Operators', scope: 'operate' } as const

const listAll = operator({
  ...common,
  id: 'listKeys',
  method: 'GET',
  path: '/api/v1/keys',
  summary: 'List all keys, oldest first, including expired and revoked ones',
  ...PAGED,
  answer: { about: 'A page of keys.', schema: pageOf(ApiKey) },
  handler: ({ db }, { query }) => cursors.page(query, (page) => listApiKeys(db, page)),
})

const readCaller = shared({
  id: 'readCaller',
  method: 'GET',
  path: '/api/v1/caller',
  tag: 'Keys',
  summary: 'Read who you are by your key',
  scope: 'read',
  answer: {
    about: 'The caller.',
    schema: object(
      {
        kind: oneOf(['reseller', 'operator']),
        reseller: orNull(Type.String(), 'Your name. Null for an operator.'),
        scopes: Type.Array(Scope),
      },
      { title: 'Caller' },
    ),
  },
  handler: async (_deps, { caller }) => ({
    kind: caller.kind,
    reseller: caller.kind === 'reseller' ? caller.resellerName : null,
    scopes: caller.scopes,
  }),
})

export const EXAMPLE_CODE = 'BmXQ3wYxvQ0rT1e9kq4yGd2c'

const signIn = open({
  id: 'signIn',
  method: 'POST',
  path: '/api/v1/sign-in',
  tag: 'Keys',
  summary: 'Exchange the code of a link for keys, once',
  description:
    'The page calls it. `bin/farewatch up` and `bin/farewatch keys link` print links with a code of ten minutes.',
  scope: 'read',
  body: object({ code: Type.String({ minLength: 1, maxLength: 200 }) }),
  answer: {
    about: 'The keys, whose texts appear nowhere else.',
    status: 201,
    location: '/api/v1/caller',
    schema: object({
      keys: Type.Array(
        object(
          {
            kind: oneOf(['reseller', 'operator']),
            key: Type.String(),
            expiresAt: Instant,
          },
          { title: 'GivenKey' },
        ),
      ),
    }),
  },
  problems: ['access.code_gone'],
  example: { body: { code: EXAMPLE_CODE } },
  handler: async ({ db, log }, { body, request }) => {
    const keys = await exchangeCode(db, body.code)
    log.info({ requestId: request.id, keys: keys.length }, 'a page has signed in')
    return { keys }
  },
})

const signOutOfPage = shared({
  id: 'signOut',
  method: 'POST',
  path: '/api/v1/sign-out',
  tag: 'Keys',
  summary: 'Revoke the key of the request, if a sign-in gave it',
  description: 'The page calls it with each key that its link gave it.',
  scope: 'any',
  answer: {
    about: 'Whether the key is revoked. A key that an operator created or that was rotated stays.',
    schema: object({ revoked: Type.Boolean() }),
  },
  handler: async ({ db, log }, { caller, request }) => {
    const revoked = await signOut(db, caller.keyId)
    if (revoked) logOperation(log, { caller, request }, { event: 'a page has signed out' })
    return { revoked }
  },
})

/** A number of a key counts the keys of all resellers. */
const { id: _id, reseller: _reseller, ...ownMembers } = members
const ownCursors = cursorsOf('own-keys', Type.String(), ({ prefix }: { prefix: string }) => prefix)

const listOwn = reseller({
  id: 'listOwnKeys',
  method: 'GET',
  path: '/api/v1/own-keys',
  tag: 'Keys',
  summary: 'List your own keys, oldest first',
  description: 'An operator creates keys and revokes them. You can rotate them.',
  scope: 'read',
  ...PAGED,
  answer: {
    about: 'A page of keys, including expired and revoked ones.',
    schema: pageOf(object(ownMembers, { title: 'OwnKey' })),
  },
  handler: async ({ db, resellerId, resellerName }, { query }) => {
    const read = (page: PagePosition<string>) => listOwnKeys(db, resellerId, page)
    const { items, next } = await ownCursors.page(query, read, resellerName)
    return { items: items.map(({ id: _, reseller: _r, ...own }) => own), next }
  },
})

const DAY_SECONDS = 86_400

const rotateOwn = reseller({
  id: 'rotateOwnKey',
  method: 'POST',
  path: '/api/v1/own-keys/rotate',
  repeatable: true,
  tag: 'Keys',
  summary: 'Replace the key of the request by a new one',
  description:
    'The new key has the scopes and the end of yours. Yours ends after the overlap, in which both are valid: use the new one ' +
    'first, then forget the old one. If the response is lost, rotate again with the old one.',
  scope: 'any',
  body: object({
    overlapSeconds: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 7 * DAY_SECONDS,
        description: 'For how long your key stays valid. Default: a day.',
      }),
    ),
  }),
  answer: {
    about: 'The new key, whose text appears nowhere else.',
    status: 201,
    location: '/api/v1/own-keys',
    schema: object(
      { ...ownMembers, key: Type.String(), previousEndsAt: instant('When your key ends.') },
      { title: 'RotatedKey' },
    ),
  },
  problems: ['quota.key_rotations'],
  example: { body: { overlapSeconds: DAY_SECONDS } },
  handler: async (
    { db, resellerId, keyId, log },
    { body: { overlapSeconds = DAY_SECONDS }, caller, request },
  ) => {
    const { key, text, previousEndsAt } = await rotateApiKey(db, {
      resellerId,
      keyId,
      overlapSeconds,
    })
    const { id, reseller: _reseller, ...own } = key
    logOperation(log, { caller, request }, { event: 'key rotated', keyId: id })
    return { ...own, key: text, previousEndsAt }
  },
})

const createLink = reseller({
  id: 'createOwnLink',
  method: 'POST',
  path: '/api/v1/own-links',
  tag: 'Keys',
  summary: 'Make a link that signs a browser in to your pages, once',
  description:
    `A back office sends its people there. The link is good for ${CODE_MINUTES} minutes and for one browser, which gets a key of ` +
    'its own, which may no more and ends no later than the key of the request.',
  scope: 'read',
  answer: {
    about: 'The link, whose code appears nowhere else.',
    status: 201,
    location: '/api/v1/own-keys',
    schema: object(
      {
        path: Type.String({ description: 'Behind the address of this farewatch.' }),
        url: orNull(Type.String(), 'The whole link. Null if the operator has set no PUBLIC_URL.'),
        expiresAt: Instant,
      },
      { title: 'SignInLink' },
    ),
  },
  logs: 'a link was made',
  handler: async ({ db, publicUrl, resellerId, keyId }) => {
    const { code, expiresAt } = await createSignInCode(db, {
      operator: false,
      resellerId,
      // A command on the database has no key.
      madeBy: keyId || null,
    })
    const url = publicUrl === undefined ? null : signInLink(publicUrl, code)
    return { path: signInLink('', code), url, expiresAt }
  },
})

const create = operator({
  ...common,
  id: 'createKey',
  method: 'POST',
  path: '/api/v1/keys',
  repeatable: true,
  summary: 'Create a key',
  description:
    'The response is the only place where the text of the key appears. Only its hash is stored.',
  body: object({
    reseller: MaybeReseller,
    scopes: Type.Optional(
      Type.Array(Scope, {
        minItems: 1,
        description:
          'A reseller’s key may have read and watch, an operator’s key read and operate. Default: both.',
      }),
    ),
    expiresAt: Type.Optional(
      Type.String({ format: 'date-time', description: 'When the key expires. Default: never.' }),
    ),
  }),
  answer: {
    about: 'The key.',
    status: 201,
    location: '/api/v1/keys/{id}',
    schema: object({ ...members, key: Type.String() }),
  },
  problems: ['not_found', 'access.scope_not_grantable'],
  example: { body: { reseller: 'alpha', scopes: ['read'] } },
  handler: async (deps, { body, ...checked }) => {
    const { db, clock } = deps
    const expiresAt = readExpiry(body.expiresAt, clock)
    const resellerId = body.reseller === null ? null : (await requireReseller(db, body.reseller)).id
    const made = await createApiKey(db, { resellerId, scopes: body.scopes, expiresAt })
    const keyId = made.key.id
    await recordOperation(deps, checked, { action: 'key created', target: `key ${keyId}`, keyId })
    return { ...made.key, key: made.text }
  },
})

const read = operator({
  ...common,
  id: 'readKey',
  method: 'GET',
  path: '/api/v1/keys/{keyId}',
  summary: 'Read a key, without its text',
  params: object({ keyId: RowId }),
  answer: { about: 'The key.', schema: ApiKey },
  problems: ['not_found'],
  example: { params: { keyId: '1' } },
  handler: ({ db }, { params: { keyId } }) => requireApiKey(db, keyId),
})

const revoke = operator({
  ...common,
  id: 'revokeKey',
  method: 'POST',
  path: '/api/v1/keys/{keyId}/revoke',
  summary: 'Revoke a key, in every process within a second',
  description: 'Revoking it a second time changes nothing.',
  params: object({ keyId: RowId }),
  answer: { about: 'The revoked key.', schema: ApiKey },
  problems: ['not_found'],
  example: { params: { keyId: '1' } },
  handler: async (deps, { params: { keyId }, ...checked }) => {
    const revoked = await revokeApiKey(deps.db, keyId)
    await recordOperation(deps, checked, { action: 'key revoked', target: `key ${keyId}`, keyId })
    return revoked
  },
})

/** A later instant has a year of more than four digits and is not a valid `date-time`. */
const LAST_INSTANT = new Date('9999-12-31T23:59:59.999Z')

function readExpiry(text: string | undefined, clock: Clock): Date | undefined {
  if (text === undefined) return undefined
  const end = new Date(text)
  if (end > clock.now() && end <= LAST_INSTANT) return end
  throw new ProblemError('request.invalid_body', {
    pointer: '/expiresAt',
    detail:
      'expiresAt must be an instant in the future, before the year 10000 of UTC, such as 2030-01-31T12:00:00Z',
  })
}

/** Keys: operators manage them, every caller sees its own, and a page receives some for a code. */
export const KEY_OPERATIONS = [
  signIn,
  signOutOfPage,
  readCaller,
  listOwn,
  rotateOwn,
  createLink,
  listAll,
  create,
  read,
  revoke,
]
