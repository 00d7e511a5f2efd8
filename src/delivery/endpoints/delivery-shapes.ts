import { type Static, Type } from 'typebox'
import { WatchChangeKind } from '../../feeds/change-shapes.ts'
import { DEAD_REASONS, DELIVERY_STATES, ENDPOINT_FORMATS } from '../../platform/base/kinds.ts'
import { Instant, object, oneOf, orNull } from '../../platform/http/schemas.ts'
import { Attempt } from './endpoint-shapes.ts'

const Id = Type.String({ format: 'uuid' })

const subject = {
  id: Id,
  endpointId: Id,
  seq: orNull(Type.Integer(), 'The number of the record in your feed. Null for an event.'),
  type: orNull(Type.String(), 'The type of an event. Null for a record.'),
  kind: orNull(
    WatchChangeKind,
    'The kind of the record. Null for an event, and once the record is archived.',
  ),
  reference: orNull(Type.String(), 'The reference of its watch.'),
}
const attempts = Type.Integer({
  description: 'How many attempts were made since the delivery began or was sent again.',
})

const progress = {
  state: oneOf(DELIVERY_STATES),
  deadReason: orNull(oneOf(DEAD_REASONS)),
  attempts,
  recordedAt: Instant,
  dueAt: orNull(Instant, 'When the next attempt is due. Null once it is over.'),
  endedAt: orNull(Instant),
}

/** Null if none was made, or if the retention has deleted it. */
const lastAttempt = orNull(Attempt)

/** A delivery as it may be shown. */
export const ShownDelivery = object({ ...subject, ...progress })
export type ShownDelivery = Static<typeof ShownDelivery>

/** A delivery that is not tried any more, with its last attempt. */
export const DeadDelivery = object(
  {
    ...subject,
    deadReason: oneOf(DEAD_REASONS, {
      description:
        'too_old: all attempts failed. blocked: the address is not allowed. too_large: the record is over 20 kB.',
    }),
    attempts,
    recordedAt: Instant,
    endedAt: Instant,
    lastAttempt,
  },
  { title: 'DeadDelivery' },
)
export type DeadDelivery = Static<typeof DeadDelivery>

/** A delivery with its endpoint and its last attempt. */
export const LoggedDelivery = object(
  {
    ...subject,
    format: oneOf(ENDPOINT_FORMATS),
    target: Type.String({ description: 'The target of the endpoint, without its secret parts.' }),
    ...progress,
    lastAttempt,
  },
  { title: 'LoggedDelivery' },
)
export type LoggedDelivery = Static<typeof LoggedDelivery>
