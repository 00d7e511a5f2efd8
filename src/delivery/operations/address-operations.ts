import { Type } from 'typebox'
import type { Logger } from '../../platform/base/logger.ts'
import type { Db } from '../../platform/db/database.ts'
import { operations } from '../../platform/http/operation.ts'
import { onlyPage, pageOf } from '../../platform/http/pages.ts'
import { Instant, object } from '../../platform/http/schemas.ts'
import { requireReseller } from '../../resellers/resellers.ts'
import { allowAddress, disallowAddress, listAddresses } from '../endpoints/addresses.ts'
import { OF_ENDPOINTS } from '../endpoints/endpoint-shapes.ts'

const { operator, reseller } = operations<{ readonly db: Db; readonly log: Logger }>()

const AllowedAddress = object(
  {
    address: Type.String({ description: 'The first character and the domain.' }),
    allowedAt: Instant,
  },
  { title: 'AllowedAddress' },
)
const all = {
  about: 'All of them.',
  schema: pageOf(AllowedAddress),
} as const

const common = {
  tag: 'Operators',
  scope: 'operate',
  path: '/api/v1/resellers/{reseller}/addresses',
  params: object({ reseller: Type.String({ minLength: 1, maxLength: 200 }) }),
  problems: ['not_found'],
} as const
const example = { params: { reseller: 'beta' } } as const
/** In the body, because the addresses of requests are logged. */
const body = object({ address: Type.String({ maxLength: 300, description: 'The whole address.' }) })
const named = { ...example, body: { address: 'ana@agency.example' } } as const

const listOwn = reseller({
  id: 'listOwnAddresses',
  method: 'GET',
  path: '/api/v1/own-addresses',
  ...OF_ENDPOINTS,
  summary: 'List the e-mail addresses that you may have messages sent to',
  scope: 'read',
  answer: all,
  handler: async ({ db, resellerId }) => onlyPage(await listAddresses(db, resellerId)),
})

const list = operator({
  ...common,
  id: 'listAddresses',
  method: 'GET',
  summary: 'List the e-mail addresses that a reseller may have messages sent to',
  answer: all,
  example,
  handler: async ({ db }, { params }) => {
    const { id } = await requireReseller(db, params.reseller)
    return onlyPage(await listAddresses(db, id))
  },
})

const allow = operator({
  ...common,
  id: 'allowAddress',
  method: 'PUT',
  summary: 'Allow a reseller to have messages sent to an e-mail address',
  description: 'Its endpoints that were disabled as `not_allowed` continue where they stopped.',
  body,
  answer: { about: 'The address.', schema: AllowedAddress },
  example: named,
  logs: 'address allowed',
  handler: ({ db }, { params, body: { address }, caller }) =>
    allowAddress(db, { ...params, address, by: caller.limitKey }),
})

const disallow = operator({
  ...common,
  id: 'disallowAddress',
  method: 'POST',
  path: `${common.path}/disallow`,
  summary: 'End the messages of a reseller to an e-mail address',
  description: 'Its endpoints are disabled as `not_allowed`. What waits for them is kept.',
  body,
  answer: { about: 'Nothing more is sent to it.', status: 204 },
  example: named,
  logs: 'address disallowed',
  handler: ({ db }, { params, body: { address }, caller }) =>
    disallowAddress(db, { ...params, address, by: caller.limitKey }),
})

/** The operations on the e-mail addresses that operators allow. */
export const ADDRESS_OPERATIONS = [listOwn, list, allow, disallow]
