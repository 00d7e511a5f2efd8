import { Type } from 'typebox'
import { RecordParams } from '../../feeds/change-shapes.ts'
import { isArchivedAfter, readFeedBounds, throwMissing } from '../../feeds/feed-bounds.ts'
import { readWatchFeedBounds } from '../../feeds/watch-feed-queries.ts'
import type { Db } from '../../platform/db/database.ts'
import { operations } from '../../platform/http/operation.ts'
import { object } from '../../platform/http/schemas.ts'
import {
  hasRecord,
  listChangeDeliveries,
  listRecentDeliveries,
  listRecordDeliveries,
} from '../endpoints/delivery-queries.ts'
import { LoggedDelivery } from '../endpoints/delivery-shapes.ts'
import { requireEndpoint } from '../endpoints/endpoint-queries.ts'
import { EndpointParams, EXAMPLE_ENDPOINT } from '../endpoints/endpoint-shapes.ts'
import { explain } from './explain-operations.ts'

const { operator, reseller } = operations<{ readonly db: Db }>()

const Deliveries = object({ items: Type.Array(LoggedDelivery) })

const ofRecord = reseller({
  id: 'listRecordDeliveries',
  method: 'GET',
  path: '/api/v1/watch-changes/{seq}/deliveries',
  tag: 'Webhooks',
  summary: 'List the deliveries of a record to your endpoints',
  description:
    'An endpoint whose filters the record does not pass has no delivery. Deliveries that are over are kept for 30 days.',
  scope: 'read',
  params: RecordParams,
  answer: { about: 'One delivery for each endpoint.', schema: Deliveries },
  problems: ['not_found', 'changes.archived'],
  example: { params: { seq: '1' } },
  handler: async (owner, { params: { seq } }) => {
    if (await hasRecord(owner, seq)) return { items: await listRecordDeliveries(owner, seq) }
    throwMissing(await readWatchFeedBounds(owner.db, owner.resellerId), seq)
  },
})

const recent = reseller({
  id: 'listRecentDeliveries',
  method: 'GET',
  path: '/api/v1/webhook-endpoints/{endpointId}/recent-deliveries',
  tag: 'Webhooks',
  summary: 'List the last deliveries of an endpoint with their states, newest first',
  scope: 'read',
  params: EndpointParams,
  query: object({
    limit: Type.Integer({
      minimum: 1,
      maximum: 200,
      default: 50,
      description: 'The maximum number of items.',
    }),
  }),
  answer: {
    about: 'The deliveries of the last records, and of the last events.',
    schema: Deliveries,
  },
  problems: ['not_found'],
  example: { params: EXAMPLE_ENDPOINT },
  handler: async (owner, { params: { endpointId }, query: { limit } }) => {
    await requireEndpoint(owner, endpointId)
    return { items: await listRecentDeliveries(owner, endpointId, limit) }
  },
})

const ofChange = operator({
  id: 'listChangeDeliveries',
  method: 'GET',
  path: '/api/v1/availability-changes/{seq}/deliveries',
  tag: 'Operators',
  summary: 'List the deliveries of a change to the endpoints of all resellers',
  scope: 'operate',
  params: RecordParams,
  answer: {
    about: 'At most 200 deliveries, with the names of their resellers.',
    schema: object({
      items: Type.Array(object({ ...LoggedDelivery.properties, reseller: Type.String() })),
    }),
  },
  example: { params: { seq: '1' } },
  problems: ['changes.archived'],
  handler: async ({ db }, { params: { seq } }) => {
    const items = await listChangeDeliveries(db, seq)
    const bounds = await readFeedBounds(db, 'availability')
    if (items.length === 0 && isArchivedAfter(bounds, seq - 1)) throwMissing(bounds, seq)
    return { items }
  },
})

/** The operations that show what was sent, and why something was not. */
export const DELIVERY_LOG_OPERATIONS = [ofRecord, recent, ofChange, explain]
