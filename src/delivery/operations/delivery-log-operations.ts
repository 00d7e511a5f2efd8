import { Type } from 'typebox'
import { RecordParams } from '../../feeds/operations/change-shapes.ts'
import { ENDPOINT_FORMATS } from '../../platform/base/kinds.ts'
import type { Db } from '../../platform/db/database.ts'
import { operations } from '../../platform/http/operation.ts'
import { ProblemError } from '../../platform/http/problems.ts'
import { object, oneOf, orNull } from '../../platform/http/schemas.ts'
import {
  hasRecord,
  listChangeDeliveries,
  listRecentDeliveries,
  listRecordDeliveries,
} from '../endpoints/delivery-queries.ts'
import { requireEndpoint } from '../endpoints/endpoint-queries.ts'
import { progress, subject } from './delivery-operations.ts'
import { Attempt, EndpointParams, EXAMPLE_ENDPOINT } from './endpoint-shapes.ts'

const { operator, reseller } = operations<{ readonly db: Db }>()

const LoggedDelivery = object(
  {
    ...subject,
    format: oneOf(ENDPOINT_FORMATS),
    target: Type.String({ description: 'The target of the endpoint, without its secret parts.' }),
    ...progress,
    lastAttempt: orNull(Attempt),
  },
  { title: 'LoggedDelivery' },
)
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
  problems: ['not_found'],
  example: { params: { seq: '1' } },
  handler: async (owner, { params: { seq } }) => {
    if (await hasRecord(owner, seq)) return { items: await listRecordDeliveries(owner, seq) }
    throw new ProblemError('not_found', {
      parameter: 'seq',
      detail: `the feed has no record ${seq}`,
    })
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
  handler: async ({ db }, { params: { seq } }) => ({ items: await listChangeDeliveries(db, seq) }),
})

/** The operations that show what was sent. */
export const DELIVERY_LOG_OPERATIONS = [ofRecord, recent, ofChange]
