import { type Static, Type } from 'typebox'
import { WATCH_CHANGE_KINDS } from '../../platform/base/change-kinds.ts'
import { CHANGE_REASONS, DISABLED_REASONS, ENDPOINT_FORMATS } from '../../platform/base/kinds.ts'
import { Instant, object, oneOf, orNull, unionBy } from '../../platform/http/schemas.ts'
import type { Template } from '../formats/format.ts'
import { TEMPLATE_FIELDS } from '../formats/template.ts'

export const EndpointParams = object({
  endpointId: Type.String({ format: 'uuid', description: 'The id of the endpoint.' }),
})

/** What the operations on endpoints have in common. */
export const OF_ENDPOINTS = { tag: 'Webhooks', ofEndpoints: true } as const

export const EXAMPLE_ENDPOINT = { endpointId: '00000000-0000-7000-8000-00000000e001' }

const Price = object({
  amount: Type.String({
    pattern: '^\\d{1,9}(\\.\\d{1,6})?$',
    description: 'Decimal text: `123.40`.',
  }),
  currency: Type.String({ pattern: '^[A-Z]{3}$' }),
})

const Hour = Type.Integer({ minimum: 0, maximum: 23 })
const Zone = Type.String({ maxLength: 64, description: 'An IANA time zone: `Europe/Madrid`.' })

const Digest = unionBy('type', 'Digest', [
  object({ type: oneOf(['interval']), every: oneOf(['15m', '1h']) }, { title: 'IntervalDigest' }),
  object({ type: oneOf(['daily']), hour: Hour, zone: Zone }, { title: 'DailyDigest' }),
])
export type Digest = Static<typeof Digest>

const QuietHours = object({ from: Hour, to: Hour, zone: Zone }, { title: 'QuietHours' })
export type QuietHours = Static<typeof QuietHours>

const Rules = object(
  {
    soldOut: Type.Optional(Type.Literal(true)),
    bookable: Type.Optional(Type.Literal(true)),
    priceBelow: Type.Optional(Price),
  },
  { minProperties: 1, title: 'EndpointRules' },
)
export type EndpointRules = Static<typeof Rules>

const list = <T extends Parameters<typeof Type.Array>[0]>(item: T, maxItems: number) =>
  Type.Array(item, { minItems: 1, maxItems })

/** What a reseller sets. Null is the preset of each. */
const settings = {
  description: Type.String({ maxLength: 200 }),
  enabled: Type.Boolean(),
  kinds: orNull(
    list(oneOf(WATCH_CHANGE_KINDS, { title: 'WatchChangeKind' }), WATCH_CHANGE_KINDS.length),
    'Only records of these kinds. Null: all kinds of fares, and none of routes.',
  ),
  reasons: orNull(
    list(oneOf(CHANGE_REASONS, { title: 'ChangeReason' }), CHANGE_REASONS.length),
    'Only records with one of these reasons.',
  ),
  lists: orNull(
    list(Type.String({ maxLength: 200 }), 100),
    'Only records of watches of one of these lists.',
  ),
  rules: orNull(
    Rules,
    'Only records that pass one of the given rules. soldOut: the fare was lost because it sold out. bookable: it became ' +
      'bookable. priceBelow: its price fell below the amount, or it became bookable below it; a price in another currency ' +
      'never passes.',
  ),
  digest: orNull(
    Digest,
    'Joins records in one message: every quarter of an hour, every hour, or daily at an hour. Only for chats and email. ' +
      'Null: each record is sent at once.',
  ),
  quietHours: orNull(
    QuietHours,
    'The hours of each day, `from` one `to` another, in which nothing is sent: it waits for their end. Only for chats and ' +
      'email. Of an endpoint of operators, what is critical is sent at once. Null: there are none.',
  ),
  template: orNull(
    Type.Unsafe<Template>({ type: 'object' }),
    'Only for json, which needs it: the form of the body. In its texts `{name}` stands for a field: ' +
      `${TEMPLATE_FIELDS.join(', ')}. A text that is one field has its value, which may be null.`,
  ),
}

/** One request that was made for a delivery. */
export const Attempt = object(
  {
    startedAt: Instant,
    durationMs: Type.Integer(),
    status: orNull(Type.Integer(), 'Null if there was no answer.'),
    outcome: Type.String({ description: '`ok`, or a stable code of why the attempt failed.' }),
    answer: Type.String({ description: 'The first kilobyte of the answer, without your secrets.' }),
  },
  { title: 'DeliveryAttempt' },
)
export type Attempt = Static<typeof Attempt>

/** Counts stop here: a long queue must not make the list of endpoints slow. */
export const MAX_COUNTED = 10_000

/** An endpoint as it may be shown: without its secret and without the path of its URL. */
export const WebhookEndpoint = object(
  {
    id: Type.String({ format: 'uuid' }),
    reseller: Type.String({ description: 'The name of its owner.' }),
    format: oneOf(ENDPOINT_FORMATS),
    target: Type.String({
      description:
        'The host and the last four characters of the URL, or a shortened e-mail address.',
    }),
    ...settings,
    headerNames: Type.Array(Type.String(), {
      description: 'The names of the headers that you have set. Their values are not shown.',
    }),
    disabledReason: orNull(
      oneOf(DISABLED_REASONS),
      'paused: by you. gone: the receiver answered 410. failing: it failed for five days. not_allowed: no ' +
        'operator allows its e-mail address.',
    ),
    disabledAt: orNull(Instant),
    failingSince: orNull(Instant, 'When the failures in a row began. Null if there are none.'),
    lastSuccessAt: orNull(Instant),
    heldUntil: orNull(
      Instant,
      'Until when no attempt is made, because the receiver answered `Retry-After`. Null if it did not.',
    ),
    pending: Type.Integer({
      description: `Deliveries that are not over. ${MAX_COUNTED} means as many or more.`,
    }),
    oldestPendingAt: orNull(
      Instant,
      'When the record of the oldest of them was written. Null if there are none.',
    ),
    lastFailure: orNull(
      Attempt,
      'The last failed attempt of the deliveries that have not arrived. Null if there is none.',
    ),
    dead: Type.Integer({ description: 'Deliveries that are not tried any more.' }),
    previousSecretUntil: orNull(Instant, 'Until when the secret before the rotation signs too.'),
    createdAt: Instant,
    updatedAt: Instant,
  },
  { title: 'WebhookEndpoint' },
)
export type ShownEndpoint = Static<typeof WebhookEndpoint>

/** What a reseller decides about an endpoint. */
export type EndpointSettings = Pick<ShownEndpoint, keyof typeof settings | 'target'> & {
  readonly headers: Readonly<Record<string, string>> | null
}

export const withSecret = object(
  {
    ...WebhookEndpoint.properties,
    secret: orNull(
      Type.String(),
      'The signing secret, `whsec_…`. It is not shown again. Null for all formats but webhook.',
    ),
  },
  { title: 'WebhookEndpointWithSecret' },
)

export const target = Type.String({
  maxLength: 2_000,
  description: 'The https URL of the receiver. For the format email: the address.',
})
const HEADER = { name: '^[A-Za-z0-9-]{1,64}$', value: '^[\\x20-\\x7e]{1,2000}$' }

/** The settings of a request. */
export const optionalSettings = Type.Partial(
  object({
    ...settings,
    headers: orNull(
      Type.Record(Type.String({ pattern: HEADER.name }), Type.String({ pattern: HEADER.value }), {
        maxProperties: 10,
        additionalProperties: false,
      }),
      'Headers that each request has: `{"authorization": "Bearer …"}`. They replace all that were set, null removes them, and ' +
        'no answer shows them. Not for email.',
    ),
  }),
).properties
