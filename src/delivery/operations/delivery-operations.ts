import { Type } from 'typebox'
import type { FeedSource } from '../../feeds/watch-feed-queries.ts'
import { operations } from '../../platform/http/operation.ts'
import { cursorsOf, pageOf, pageParameters } from '../../platform/http/pages.ts'
import { ProblemError } from '../../platform/http/problems.ts'
import { Instant, MAX_WHOLE_NUMBER, object, orNull } from '../../platform/http/schemas.ts'
import { composeMessages } from '../dispatch/claim-deliveries.ts'
import {
  listAttempts,
  listDead,
  readContent,
  requireDelivery,
} from '../endpoints/delivery-queries.ts'
import { DeadDelivery, ShownDelivery } from '../endpoints/delivery-shapes.ts'
import { type EndpointOwner, requireEndpoint } from '../endpoints/endpoint-queries.ts'
import { Attempt, EndpointParams, EXAMPLE_ENDPOINT } from '../endpoints/endpoint-shapes.ts'
import {
  MAX_REPLAYED,
  replayFailed,
  replayRange,
  retryDelivery,
} from '../endpoints/replay-deliveries.ts'
import type { Message } from '../formats/format.ts'

const { reseller } = operations<FeedSource>()

const DeliveryParams = object({
  ...EndpointParams.properties,
  deliveryId: Type.String({ format: 'uuid', description: 'The `webhook-id` of the request.' }),
})

type Body = Omit<Message, 'deliveryId'>

const Delivery = object(
  {
    ...ShownDelivery.properties,
    body: orNull(
      Type.Unsafe<Body>(object({ type: Type.String(), timestamp: Instant, data: Type.Unknown() })),
      'What is sent: the body of a webhook, and what the text of a message for people is made of. Null if the record is ' +
        'archived.',
    ),
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
const cursors = cursorsOf('dead-deliveries', DeadDelivery.properties.id)

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
  summary: 'Read a delivery with its body and its attempts',
  scope: 'read',
  answer: { about: 'The delivery.', schema: Delivery },
  handler: async (owner, { params }) => {
    const delivery = await requireDelivery(owner, params)
    const attemptsMade = await listAttempts(owner.db, owner.resellerId, params.deliveryId)
    return { ...delivery, body: await readBody(owner, delivery), attemptsMade }
  },
})

async function readBody(
  source: FeedSource & EndpointOwner,
  delivery: ShownDelivery,
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
    schema: object({ id: ShownDelivery.properties.id }),
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
  repeatable: true,
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
