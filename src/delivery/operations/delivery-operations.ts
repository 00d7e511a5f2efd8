import { Type } from 'typebox'
import { RecordParams } from '../../feeds/change-shapes.ts'
import { isArchivedAfter, readFeedBounds, throwMissing } from '../../feeds/feed-bounds.ts'
import type { FeedSource } from '../../feeds/watch-feed-queries.ts'
import { DELIVERY_STATES, type DeliveryState } from '../../platform/base/kinds.ts'
import type { ResellerId } from '../../platform/base/reseller-id.ts'
import type { Db } from '../../platform/db/database.ts'
import { operations } from '../../platform/http/operation.ts'
import { cursorsOf, type PagePosition, pageOf, pageParameters } from '../../platform/http/pages.ts'
import { invalidBody } from '../../platform/http/problems.ts'
import { MAX_WHOLE_NUMBER, object, oneOf, orNull } from '../../platform/http/schemas.ts'
import { composeMessages } from '../dispatch/claim-deliveries.ts'
import {
  listAttempts,
  listChangeDeliveries,
  listDeliveries,
  readContent,
  requireDelivery,
} from '../endpoints/delivery-queries.ts'
import { Delivery } from '../endpoints/delivery-shapes.ts'
import { type EndpointOwner, requireEndpoint } from '../endpoints/endpoint-queries.ts'
import {
  Attempt,
  EndpointParams,
  EXAMPLE_ENDPOINT,
  OF_ENDPOINTS,
} from '../endpoints/endpoint-shapes.ts'
import {
  MAX_REPLAYED,
  replayFailed,
  replayRange,
  retryDelivery,
} from '../endpoints/replay-deliveries.ts'
import type { Message } from '../formats/format.ts'
import { WebhookEventShape } from './event-shapes.ts'
import { explain } from './explain-operations.ts'

const { operator, reseller } = operations<FeedSource>()

const DeliveryParams = object({
  deliveryId: Type.String({ format: 'uuid', description: 'The `webhook-id` of the request.' }),
})

type Body = Omit<Message, 'deliveryId'>

const DeliveryDetails = object(
  {
    ...Delivery.properties,
    body: orNull(
      Type.Unsafe<Body>(WebhookEventShape),
      'What is sent: the body of a webhook, and what the text of a message for people is made of. Null if the record is ' +
        'archived.',
    ),
    attempts: Type.Array(Attempt, { description: 'Of the last 30 days, oldest first.' }),
  },
  { title: 'DeliveryDetails' },
)

export const EXAMPLE_DELIVERY = { deliveryId: '00000000-0000-7000-8000-00000000d001' }
const one = {
  ...OF_ENDPOINTS,
  path: '/api/v1/deliveries/{deliveryId}',
  params: DeliveryParams,
  problems: ['not_found'],
  example: { params: EXAMPLE_DELIVERY },
} as const
const idOf = ({ id }: Delivery) => id
const cursors = cursorsOf('deliveries', Delivery.properties.id, idOf)
const changeCursors = cursorsOf('change-deliveries', Delivery.properties.id, idOf)

const filters = {
  endpoint: Type.Optional(
    Type.String({ format: 'uuid', description: 'Only those to this endpoint, by its id.' }),
  ),
  state: Type.Optional(
    Type.Array(oneOf(DELIVERY_STATES), {
      maxItems: DELIVERY_STATES.length,
      description: 'Only those in one of these states.',
    }),
  ),
  ...pageParameters({ preset: 50, max: 1000 }),
}

const listOwn = reseller({
  id: 'listDeliveries',
  method: 'GET',
  path: '/api/v1/deliveries',
  ...OF_ENDPOINTS,
  summary: 'List the deliveries to your endpoints, newest first',
  description:
    'One record may have a delivery to each endpoint whose filters it passes. Deliveries that are over are kept for 30 days.',
  scope: 'read',
  query: object({
    seq: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: MAX_WHOLE_NUMBER,
        description: 'Only those of the record with this number in your feed.',
      }),
    ),
    ...filters,
  }),
  answer: { about: 'A page of deliveries.', schema: pageOf(Delivery) },
  problems: ['not_found', 'request.invalid_cursor'],
  handler: async (owner, { query }) => {
    if (query.endpoint !== undefined) await requireEndpoint(owner, query.endpoint)
    return pageOfDeliveries(owner.db, owner.resellerId, query)
  },
})

const listOfAll = operator({
  id: 'listAllDeliveries',
  method: 'GET',
  path: '/api/v1/all-deliveries',
  tag: 'Operators',
  summary: 'List the deliveries to the endpoints of all resellers, newest first',
  scope: 'operate',
  query: object(filters),
  answer: { about: 'A page of deliveries.', schema: pageOf(Delivery) },
  problems: ['request.invalid_cursor'],
  handler: ({ db }, { query }) => pageOfDeliveries(db, undefined, query),
})

interface Wanted {
  readonly endpoint?: string
  readonly state?: readonly DeliveryState[]
  readonly seq?: number
  readonly limit: number
  readonly cursor?: string
}

function pageOfDeliveries(db: Db, resellerId: ResellerId | undefined, query: Wanted) {
  const { limit: _, cursor: _c, ...filter } = query
  const { endpoint: endpointId, state: states, seq } = filter
  const wanted = { resellerId, endpointId, states, seq }
  return cursors.page(query, (page) => listDeliveries(db, { ...wanted, ...page }), filter)
}

const ofChange = operator({
  id: 'listChangeDeliveries',
  method: 'GET',
  path: '/api/v1/availability-changes/{seq}/deliveries',
  tag: 'Operators',
  summary: 'List the deliveries of a change to the endpoints of all resellers',
  scope: 'operate',
  params: RecordParams,
  query: object(pageParameters({ preset: 200, max: 1000 })),
  answer: { about: 'A page of deliveries, newest first.', schema: pageOf(Delivery) },
  example: { params: { seq: '1' } },
  problems: ['changes.archived', 'request.invalid_cursor'],
  handler: async ({ db }, { params: { seq }, query }) => {
    const read = (page: PagePosition<string>) => listChangeDeliveries(db, seq, page)
    const found = await changeCursors.page(query, read, seq)
    const bounds = await readFeedBounds(db, 'availability')
    if (found.items.length === 0 && isArchivedAfter(bounds, seq - 1)) throwMissing(bounds, seq)
    return found
  },
})

const read = reseller({
  ...one,
  id: 'readDelivery',
  method: 'GET',
  summary: 'Read a delivery with its body and its attempts',
  scope: 'read',
  answer: { about: 'The delivery.', schema: DeliveryDetails },
  handler: async (owner, { params: { deliveryId } }) => {
    const delivery = await requireDelivery(owner, deliveryId)
    const attempts = await listAttempts(owner.db, owner.resellerId, deliveryId)
    return { ...delivery, body: await readBody(owner, delivery), attempts }
  },
})

async function readBody(
  source: FeedSource & EndpointOwner,
  delivery: Delivery,
): Promise<Body | null> {
  const content = await readContent(source.db, delivery.id)
  const owner = { id: delivery.endpointId, resellerId: source.resellerId }
  const [composed] = await composeMessages(source, [{ ...delivery, ...content }], [owner])
  if (composed === undefined || composed.message.type === '') return null
  const { type, timestamp, data } = composed.message
  return { type, timestamp, data }
}

const retry = reseller({
  ...one,
  id: 'retryDelivery',
  method: 'POST',
  repeatable: true,
  path: `${one.path}/retry`,
  summary: 'Send a delivery again',
  description:
    'It keeps its `webhook-id` and has all its attempts before it again. A delivery that is not over is not changed.',
  scope: 'watch',
  answer: {
    about: 'The delivery is sent within seconds.',
    status: 202,
    schema: object({ id: Delivery.properties.id }),
  },
  handler: async (owner, { params: { deliveryId } }) => {
    await requireDelivery(owner, deliveryId)
    await retryDelivery(owner.db, owner.resellerId, deliveryId)
    return { id: deliveryId }
  },
})

const Seq = Type.Integer({ minimum: 1, maximum: MAX_WHOLE_NUMBER })

const replay = reseller({
  id: 'replayDeliveries',
  method: 'POST',
  repeatable: true,
  path: '/api/v1/webhook-endpoints/{endpointId}/replay',
  ...OF_ENDPOINTS,
  summary: 'Send the deliveries of an endpoint again: a range of numbers, or all that died',
  description:
    'Give `from` and `to`, the first and the last number of your feed, or `diedFrom`: all deliveries that have died since this ' +
    `instant. At most ${MAX_REPLAYED} are sent by one request; with \`diedFrom\`, repeat it until \`replayed\` is 0. Deliveries ` +
    'keep their `webhook-id`.',
  scope: 'watch',
  params: EndpointParams,
  body: object({
    from: Type.Optional(Seq),
    to: Type.Optional(Seq),
    diedFrom: Type.Optional(Type.String({ format: 'date-time' })),
  }),
  answer: {
    about: 'The deliveries are sent within seconds.',
    status: 202,
    schema: object({ replayed: Type.Integer() }),
  },
  problems: ['not_found'],
  example: { params: EXAMPLE_ENDPOINT, body: { from: 1, to: 100 } },
  handler: async (owner, { params: { endpointId }, body: { from, to, diedFrom } }) => {
    await requireEndpoint(owner, endpointId)
    const { db, resellerId } = owner
    if (from !== undefined && to !== undefined && diedFrom === undefined) {
      return { replayed: await replayRange(db, resellerId, { endpointId, from, to }) }
    }
    if (from === undefined && to === undefined && diedFrom !== undefined) {
      const given = { endpointId, diedFrom: instantOf(diedFrom) }
      return { replayed: await replayFailed(db, resellerId, given) }
    }
    throw invalidBody({ pointer: '', detail: 'give either from and to, or diedFrom' })
  },
})

/** PostgreSQL does not store all years that a Date has. */
function instantOf(text: string): Date {
  const instant = new Date(text)
  const year = instant.getUTCFullYear()
  if (year >= 1970 && year <= 9999) return instant
  throw invalidBody({
    pointer: '/diedFrom',
    detail: 'diedFrom must be an instant such as 2030-01-31T12:00:00Z',
  })
}

/** The operations that show what was sent, and why something was not, and that send it again. */
export const DELIVERY_OPERATIONS = [listOwn, read, retry, replay, ofChange, listOfAll, explain]
