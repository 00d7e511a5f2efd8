import { Type } from 'typebox'
import { Price, RecordParams } from '../../feeds/change-shapes.ts'
import { isArchivedAfter, readFeedBounds, throwMissing } from '../../feeds/feed-bounds.ts'
import { readWatchFeedBounds } from '../../feeds/watch-feed-queries.ts'
import {
  AVAILABILITY_CHANGE_KINDS,
  CHANGE_REASONS,
  ENDPOINT_FORMATS,
} from '../../platform/base/kinds.ts'
import type { Db } from '../../platform/db/database.ts'
import { operations } from '../../platform/http/operation.ts'
import { Instant, object, oneOf, orNull } from '../../platform/http/schemas.ts'
import { requireReseller } from '../../resellers/resellers.ts'
import {
  hasRecord,
  listChangeDeliveries,
  listRecentDeliveries,
  listRecordDeliveries,
} from '../endpoints/delivery-queries.ts'
import { requireEndpoint } from '../endpoints/endpoint-queries.ts'
import { ENDPOINT_STEPS, explainChange, WATCH_STEPS } from '../explain-change.ts'
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

const MaybeInstant = orNull(Instant)
const MaybeId = orNull(Type.String({ format: 'uuid' }))

const Explanation = object(
  {
    change: object({
      seq: Type.Integer(),
      kind: oneOf(AVAILABILITY_CHANGE_KINDS, { title: 'AvailabilityChangeKind' }),
      reason: orNull(oneOf(CHANGE_REASONS, { title: 'ChangeReason' })),
      trackedFareId: Type.Integer(),
      recordedAt: Instant,
      heldSince: orNull(Instant, 'Since when a mass had held the change. Null if none had.'),
    }),
    watches: Type.Array(
      object({
        list: Type.String(),
        reference: Type.String(),
        step: oneOf(WATCH_STEPS),
        seq: orNull(Type.Integer(), 'The number of the record in the feed of the reseller.'),
        since: MaybeInstant,
        from: orNull(Price, 'The price from which the thresholds are measured.'),
        to: orNull(Price),
        priceThresholdAmount: orNull(Type.String()),
        priceThresholdPercent: orNull(Type.String()),
      }),
      { description: 'The watches that the reseller has of the fare now.' },
    ),
    endpoints: Type.Array(
      object({
        seq: Type.Integer(),
        endpointId: Type.String({ format: 'uuid' }),
        target: Type.String(),
        step: oneOf(ENDPOINT_STEPS),
        filters: Type.Array(oneOf(['kinds', 'reasons', 'lists', 'rules']), {
          description: 'The filters that the record does not pass.',
        }),
        deliveryId: MaybeId,
        attempts: orNull(Type.Integer()),
        waitsForDigest: Type.Boolean(),
        at: orNull(Instant, 'When the next attempt is due, or when the step ended it.'),
      }),
      { description: 'Each record of the change at each endpoint that the reseller has now.' },
    ),
  },
  { title: 'ChangeExplanation' },
)

const explain = operator({
  id: 'explainChange',
  method: 'GET',
  path: '/api/v1/availability-changes/{seq}/resellers/{reseller}',
  tag: 'Operators',
  summary: 'Explain why a reseller was notified of a change, or was not',
  description:
    'For each watch and each endpoint, `step` is where the rule ended, by the present settings. With no watches, the reseller ' +
    'does not watch the fare, or has deleted its watches.',
  scope: 'operate',
  params: object({
    ...RecordParams.properties,
    reseller: Type.String({ minLength: 1, maxLength: 200, description: 'Its name.' }),
  }),
  answer: { about: 'The steps.', schema: Explanation },
  problems: ['not_found', 'changes.archived', 'watch.unknown_reseller'],
  example: { params: { seq: '1', reseller: 'alpha' } },
  handler: async ({ db }, { params: { seq, reseller: name } }) => {
    const { id: resellerId } = await requireReseller(db, name)
    const explanation = await explainChange(db, { seq, resellerId })
    if (explanation !== undefined) return explanation
    throwMissing(await readFeedBounds(db, 'availability'), seq)
  },
})

/** The operations that show what was sent, and why something was not. */
export const DELIVERY_LOG_OPERATIONS = [ofRecord, recent, ofChange, explain]
