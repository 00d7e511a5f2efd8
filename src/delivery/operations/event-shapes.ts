import { type TSchema, Type } from 'typebox'
import { exampleRecord } from '../../feeds/example-records.ts'
import { recordOf, titleOf } from '../../feeds/watch-change-shapes.ts'
import { messageType, WATCH_CHANGE_KINDS } from '../../platform/base/change-kinds.ts'
import { EVENT_REASONS } from '../../platform/base/kinds.ts'
import { Instant, instant, object, oneOf, orNull, unionBy } from '../../platform/http/schemas.ts'
import { EXAMPLE_ENDPOINT } from '../endpoints/endpoint-shapes.ts'

/** A body that webhooks send, by its `type`. */
export interface WebhookEvent {
  readonly about: string
  readonly schema: TSchema
  /** Missing for an example of another body: that one shows it. */
  readonly example?: object
}

const EXAMPLE_TIME = exampleRecord('expired').recordedAt

const TEST = object({ endpointId: Type.String({ format: 'uuid' }), message: Type.String() })

const DISABLED = object({
  endpointId: Type.String({ format: 'uuid' }),
  description: Type.Optional(
    Type.String({ description: 'Your own text. Missing in events of older versions.' }),
  ),
  target: Type.Optional(
    Type.String({
      description: 'The host of its URL, or a shortened e-mail address. Missing likewise.',
    }),
  ),
  reason: oneOf(EVENT_REASONS),
  disabledAt: Instant,
})

const WARNING = object(
  {
    code: Type.String({ description: 'As in the status. /docs/runbooks has a section about it.' }),
    subject: orNull(
      Type.String(),
      'The list, run or reseller that it names. Null if it names none.',
    ),
    level: oneOf(['warn', 'bad'], { description: '`bad`: an operator must act.' }),
    critical: Type.Boolean({ description: 'Whether it wakes a person.' }),
    text: Type.String({ description: 'What is wrong.' }),
    todo: orNull(Type.String(), 'What an operator does. Null when it has ended.'),
    message: Type.String({ description: 'All of it as a line for people.' }),
  },
  { title: 'WarningEventData' },
)

/** What the endpoints of operators are sent. */
const WARNINGS = {
  began: 'Something is wrong.',
  worsened: 'Something is worse than before.',
  ended: 'Something is not wrong any more, for five minutes.',
  flapping:
    'Something began for the fifth time in an hour. The next event comes after an hour without a change.',
}

const EXAMPLE_WARNING = {
  code: 'calls_failing',
  subject: null,
  level: 'bad',
  critical: true,
  text: 'Calls of verify fail (ECONNREFUSED). Single calls test it.',
  todo: 'If the probe fails too, report it to the upstream: the work goes on by itself.',
  message:
    'Critical: Calls of verify fail (ECONNREFUSED). Single calls test it. If the probe fails too, report it to the upstream: the work goes on by itself.',
}

const own = (type: string, about: string, schema: TSchema, data?: object) =>
  [
    type,
    {
      about,
      schema: object(
        { type: oneOf([type]), timestamp: instant('When the record was written.'), data: schema },
        { title: `${titleOf(type)}Event` },
      ),
      ...(data === undefined ? {} : { example: { type, timestamp: EXAMPLE_TIME, data } }),
    },
  ] as const

const RECORDS = WATCH_CHANGE_KINDS.map((kind) => {
  const schema = recordOf(kind)
  const { description = '' } = schema as { description?: string }
  const data = { seq: 41, previous: 38, ...exampleRecord(kind) }
  return own(messageType(kind), description, schema, data)
})

const EXAMPLES = WATCH_CHANGE_KINDS.map((kind) => {
  const about = `An example of ${messageType(kind)}, without a number.`
  return own(`example.${kind}`, about, recordOf(kind, { isExample: true }))
})

/** Every body that webhooks send, by its `type`, with an example. */
export const WEBHOOK_EVENTS: Readonly<Record<string, WebhookEvent>> = Object.fromEntries([
  ...RECORDS,
  ...EXAMPLES,
  own('webhook.test', 'You asked for a test.', TEST, {
    ...EXAMPLE_ENDPOINT,
    message: 'This is a test of the endpoint.',
  }),
  own('webhook.disabled', 'Another endpoint of yours was disabled.', DISABLED, {
    ...EXAMPLE_ENDPOINT,
    description: 'booking engine',
    target: 'receiver.example',
    reason: 'failing',
    disabledAt: EXAMPLE_TIME,
  }),
  ...Object.entries(WARNINGS).map(([name, about]) =>
    own(`warning.${name}`, `For operators: ${about}`, WARNING, EXAMPLE_WARNING),
  ),
])

/** The union of all bodies, by `type`. */
export const WebhookEventShape = unionBy(
  'type',
  'WebhookEvent',
  Object.values(WEBHOOK_EVENTS).map(({ schema }) => schema),
)
