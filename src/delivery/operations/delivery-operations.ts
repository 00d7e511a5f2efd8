import { Type } from 'typebox'
import { RecordParams } from '../../feeds/operations/change-shapes.ts'
import { DEAD_REASONS, DELIVERY_STATES, ENDPOINT_FORMATS } from '../../platform/base/kinds.ts'
import type { Db } from '../../platform/db/database.ts'
import { operations } from '../../platform/http/operation.ts'
import { cursorsOf, pageOf, pageParameters } from '../../platform/http/pages.ts'
import { ProblemError } from '../../platform/http/problems.ts'
import { Instant, MAX_WHOLE_NUMBER, object, oneOf, orNull } from '../../platform/http/schemas.ts'
import {
  hasRecord,
  listAttempts,
  listChangeDeliveries,
  listDead,
  listRecentDeliveries,
  listRecordDeliveries,
  requireDelivery,
} from '../endpoints/delivery-queries.ts'
import { requireEndpoint } from '../endpoints/endpoint-queries.ts'
import {
  MAX_REPLAYED,
  replayFailed,
  replayRange,
  retryDelivery,
} from '../endpoints/replay-deliveries.ts'
import { EndpointParams, EXAMPLE_ENDPOINT } from './endpoint-shapes.ts'

const { operator, reseller } = operations<{ readonly db: Db }>()

const Id = Type.String({ format: 'uuid' })
const DeliveryParams = object({
  ...EndpointParams.properties,
  deliveryId: Type.String({ format: 'uuid', description: 'The `webhook-id` of the request.' }),
})

const Attempt = object(
  {
    startedAt: Instant,
    durationMs: Type.Integer(),
    status: orNull(Type.Integer(), 'Null if there was no answer.'),
    outcome: Type.String({ description: '`ok`, or a stable code of why the attempt failed.' }),
    answer: Type.String({ description: 'The first kilobyte of the answer, without your secrets.' }),
  },
  { title: 'DeliveryAttempt' },
)

const subject = {
  id: Id,
  endpointId: Id,
  seq: orNull(Type.Integer(), 'The number of the record in your feed. Null for an event.'),
  type: orNull(Type.String(), 'The type of an event. Null for a record.'),
}
const attempts = Type.Integer({
  description: 'How many attempts were made since the delivery began or was sent again.',
})

const DeadDelivery = object(
  {
    ...subject,
    deadReason: oneOf(DEAD_REASONS, {
      description:
        'too_old: all attempts failed. blocked: the address is not allowed. too_large: the record is over 20 kB.',
    }),
    attempts,
    recordedAt: Instant,
    endedAt: Instant,
    lastAttempt: orNull(Attempt),
  },
  { title: 'DeadDelivery' },
)

const progress = {
  state: oneOf(DELIVERY_STATES),
  deadReason: orNull(oneOf(DEAD_REASONS)),
  attempts,
  recordedAt: Instant,
  dueAt: orNull(Instant, 'When the next attempt is due. Null once it is over.'),
  endedAt: orNull(Instant),
}

const Delivery = object(
  {
    ...subject,
    ...progress,
    attemptsMade: Type.Array(Attempt, { description: 'Of the last 30 days, oldest first.' }),
  },
  { title: 'Delivery' },
)

export const EXAMPLE_DELIVERY = {
  ...EXAMPLE_ENDPOINT,
  deliveryId: '00000000-0000-7000-8000-00000000d001',
}
const common = { tag: 'Webhooks', path: '/api/v1/webhook-endpoints/{endpointId}' } as const
const one = {
  ...common,
  path: `${common.path}/deliveries/{deliveryId}`,
  params: DeliveryParams,
  problems: ['not_found'],
  example: { params: EXAMPLE_DELIVERY },
} as const
const cursors = cursorsOf('dead-deliveries', Id)

const listDeadOnes = reseller({
  ...common,
  id: 'listDeadDeliveries',
  method: 'GET',
  path: `${common.path}/deliveries`,
  summary: 'List the deliveries of an endpoint that are not tried any more, newest first',
  scope: 'read',
  params: EndpointParams,
  query: object(pageParameters({ preset: 50, max: 1000 })),
  answer: { about: 'A page of dead deliveries.', schema: pageOf(DeadDelivery) },
  problems: ['not_found', 'request.invalid_cursor'],
  example: { params: EXAMPLE_ENDPOINT },
  handler: async (owner, { params: { endpointId }, query: { limit, cursor } }) => {
    const bound = endpointId
    const after = cursors.read(cursor, bound)
    await requireEndpoint(owner, endpointId)
    const { db, resellerId } = owner
    const dead = await listDead(db, resellerId, { endpointId, after, limit: limit + 1 })
    return cursors.page(dead, { limit, bound, positionOf: ({ id }) => id })
  },
})

const read = reseller({
  ...one,
  id: 'readDelivery',
  method: 'GET',
  summary: 'Read a delivery with its attempts',
  scope: 'read',
  answer: { about: 'The delivery.', schema: Delivery },
  handler: async (owner, { params }) => {
    const delivery = await requireDelivery(owner, params)
    const attemptsMade = await listAttempts(owner.db, owner.resellerId, params.deliveryId)
    return { ...delivery, attemptsMade }
  },
})

const retry = reseller({
  ...one,
  id: 'retryDelivery',
  method: 'POST',
  path: `${one.path}/retry`,
  summary: 'Send a delivery again',
  description:
    'It keeps its `webhook-id` and has all its attempts before it again. A delivery that is not over is not changed.',
  scope: 'watch',
  answer: {
    about: 'The delivery is sent within seconds.',
    status: 202,
    schema: object({ id: Id }),
  },
  handler: async (owner, { params }) => {
    await requireDelivery(owner, params)
    await retryDelivery(owner.db, owner.resellerId, params.deliveryId)
    return { id: params.deliveryId }
  },
})

const Seq = Type.Integer({ minimum: 1, maximum: MAX_WHOLE_NUMBER })

const replay = reseller({
  ...common,
  id: 'replayDeliveries',
  method: 'POST',
  path: `${common.path}/replay`,
  summary: 'Send the deliveries of an endpoint again: a range of numbers, or all that died',
  description:
    'Give `from` and `through`, the first and the last number of your feed, or `since`: all deliveries that died after this ' +
    `instant. At most ${MAX_REPLAYED} are sent by one request; with \`since\`, repeat it until \`replayed\` is 0. Deliveries ` +
    'keep their `webhook-id`.',
  scope: 'watch',
  params: EndpointParams,
  body: object({
    from: Type.Optional(Seq),
    through: Type.Optional(Seq),
    since: Type.Optional(Type.String({ format: 'date-time' })),
  }),
  answer: {
    about: 'The deliveries are sent within seconds.',
    status: 202,
    schema: object({ replayed: Type.Integer() }),
  },
  problems: ['not_found'],
  example: { params: EXAMPLE_ENDPOINT, body: { from: 1, through: 100 } },
  handler: async (owner, { params: { endpointId }, body: { from, through, since } }) => {
    await requireEndpoint(owner, endpointId)
    const { db, resellerId } = owner
    if (from !== undefined && through !== undefined && since === undefined) {
      return { replayed: await replayRange(db, resellerId, { endpointId, from, through }) }
    }
    if (from === undefined && through === undefined && since !== undefined) {
      const given = { endpointId, since: instantOf(since) }
      return { replayed: await replayFailed(db, resellerId, given) }
    }
    throw new ProblemError('request.invalid_body', {
      detail: 'give either from and through, or since',
    })
  },
})

/** PostgreSQL does not store all years that a Date has. */
function instantOf(text: string): Date {
  const instant = new Date(text)
  const year = instant.getUTCFullYear()
  if (year >= 1970 && year <= 9999) return instant
  throw new ProblemError('request.invalid_body', {
    pointer: '/since',
    detail: 'since must be an instant such as 2030-01-31T12:00:00Z',
  })
}

/** The operations with which a reseller sees what did not arrive, and sends it again. */
export const DELIVERY_OPERATIONS = [listDeadOnes, read, retry, replay]

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
