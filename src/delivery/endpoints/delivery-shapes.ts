import { type Static, Type } from 'typebox'
import { WatchChangeKind } from '../../feeds/change-shapes.ts'
import { DEAD_REASONS, DELIVERY_STATES, ENDPOINT_FORMATS } from '../../platform/base/kinds.ts'
import { Instant, object, oneOf, orNull } from '../../platform/http/schemas.ts'
import { Attempt } from './endpoint-shapes.ts'

const Id = Type.String({ format: 'uuid' })

/** One record or event for one endpoint, with its last attempt. */
export const Delivery = object(
  {
    id: Id,
    reseller: Type.String({ description: 'The name of the owner of the endpoint.' }),
    endpointId: Id,
    format: oneOf(ENDPOINT_FORMATS),
    target: Type.String({ description: 'The target of the endpoint, without its secret parts.' }),
    seq: orNull(Type.Integer(), 'The number of the record in your feed. Null for an event.'),
    type: orNull(Type.String(), 'The type of an event. Null for a record.'),
    kind: orNull(
      WatchChangeKind,
      'The kind of the record. Null for an event, and once the record is archived.',
    ),
    reference: orNull(Type.String(), 'The reference of its watch.'),
    state: oneOf(DELIVERY_STATES),
    deadReason: orNull(
      oneOf(DEAD_REASONS),
      'too_old: all attempts failed. blocked: the address is not allowed. too_large: the record is over 20 kB.',
    ),
    attemptCount: Type.Integer({
      description: 'How many attempts were made since the delivery began or was sent again.',
    }),
    recordedAt: Instant,
    dueAt: orNull(Instant, 'When the next attempt is due. Null once it is over.'),
    endedAt: orNull(Instant),
    lastAttempt: orNull(Attempt, 'Null if none was made, or if the retention has deleted it.'),
  },
  { title: 'Delivery' },
)
export type Delivery = Static<typeof Delivery>
