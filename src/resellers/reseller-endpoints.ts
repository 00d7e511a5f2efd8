import { Type } from 'typebox'
import type { Logger } from '../base/logger.ts'
import type { Db } from '../db/database.ts'
import { logOperation } from '../http/audit-log.ts'
import { operations } from '../http/operation.ts'
import { cursorsOf, pageOf, pageParameters } from '../http/pages.ts'
import { Instant, object, orNull } from '../http/schemas.ts'
import { createReseller, listResellers, requireReseller } from './resellers.ts'

interface ResellerDeps {
  readonly db: Db
  readonly log: Logger
  /** Stops the watches of a reseller. A dependency, because watch/ lies on a higher floor. */
  readonly disableReseller: (
    db: Db,
    resellerId: number,
  ) => Promise<{ readonly trackedFaresEnded: number }>
}

const { operator } = operations<ResellerDeps>()

const MAX_NAME_CHARS = 200
const Name = Type.String({ minLength: 1, maxLength: MAX_NAME_CHARS })

const members = {
  id: Type.Integer(),
  name: Type.String(),
  createdAt: Instant,
  disabledAt: orNull(Instant),
}
const Reseller = object(members)
const Summary = object({
  ...members,
  lists: Type.Integer({ description: 'Its watch lists.' }),
  watches: Type.Integer(),
  active: Type.Integer({
    description: 'Of the watches, those that are neither paused nor have ended.',
  }),
})

const cursors = cursorsOf('resellers', Name)
const common = { tag: 'Operators', scope: 'operate' } as const

const listAll = operator({
  ...common,
  id: 'listResellers',
  method: 'GET',
  path: '/api/v1/resellers',
  summary: 'Who keeps watch lists, by name',
  query: object(pageParameters({ preset: 50, max: 1000 })),
  answer: { about: 'A page of resellers.', schema: pageOf(Summary) },
  problems: ['request.invalid_cursor'],
  example: { query: { limit: '2' } },
  handler: async ({ db }, { query: { limit, cursor } }) => {
    const after = cursors.read(cursor, null)
    const resellers = await listResellers(db, { after, limit: limit + 1 })
    return cursors.page(resellers, { limit, bound: null, positionOf: ({ name }) => name })
  },
})

const create = operator({
  ...common,
  id: 'createReseller',
  method: 'POST',
  path: '/api/v1/resellers',
  summary: 'Add a reseller',
  body: object({ name: Name }),
  answer: { about: 'The reseller. It has no key yet.', status: 201, schema: Reseller },
  problems: ['watch.duplicate_reseller', 'watch.invalid_reseller_name'],
  example: { body: { name: 'northwind' } },
  handler: async ({ db, log }, { body: { name }, caller, request }) => {
    const created = await createReseller(db, name)
    logOperation(log, { caller, request }, { event: 'reseller created', reseller: name })
    return created
  },
})

const disable = operator({
  ...common,
  id: 'disableReseller',
  method: 'POST',
  path: '/api/v1/resellers/{reseller}/disable',
  summary: 'Stop all watches of a reseller',
  description:
    'As if each were paused. Its watch lists, its feed and its keys stay; again changes nothing.',
  params: object({ reseller: Name }),
  answer: {
    about: 'The reseller, and how many tracked fares nobody watches any more.',
    schema: object({ ...members, trackedFaresEnded: Type.Integer() }),
  },
  problems: ['watch.unknown_reseller'],
  example: { params: { reseller: 'beta' } },
  handler: async (
    { db, log, disableReseller },
    { params: { reseller: name }, caller, request },
  ) => {
    const { id } = await requireReseller(db, name)
    const { trackedFaresEnded } = await disableReseller(db, id)
    logOperation(log, { caller, request }, { event: 'reseller disabled', reseller: name })
    return { ...(await requireReseller(db, name)), trackedFaresEnded }
  },
})

/** The endpoints with which operators manage resellers. */
export const RESELLER_OPERATIONS = [listAll, create, disable]
