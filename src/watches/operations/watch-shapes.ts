import { Type } from 'typebox'
import { WATCH_PRIORITIES } from '../../platform/base/kinds.ts'
import { Instant, instant, object, oneOf, orNull } from '../../platform/http/schemas.ts'
import type { Watch } from '../watch-queries.ts'
import { ListParams } from './watch-list-operations.ts'

/** The path of a watch: the reseller's names for the list and the watch. */
export const WatchParams = object({
  ...ListParams.properties,
  reference: Type.String({
    minLength: 1,
    maxLength: 200,
    description: 'Your name for the watch.',
  }),
})

const Counts = object(
  { adults: Type.Integer(), children: Type.Integer(), infants: Type.Integer() },
  { title: 'PassengerCounts' },
)

/** The settings of a watch, and when they began to apply. */
export const watchMembers = {
  list: Type.String(),
  reference: Type.String(),
  watchId: Type.String({
    description: 'Identifies the watch in the records of your feed. It never changes.',
  }),
  flightId: Type.String(),
  returnFlightId: orNull(Type.String()),
  passengers: object({ residents: Counts, nonResidents: Counts }),
  priceThresholdAmount: orNull(Type.String()),
  priceThresholdPercent: orNull(Type.String()),
  departsOn: orNull(Type.String()),
  minIntervalSeconds: orNull(Type.Integer()),
  priority: oneOf(WATCH_PRIORITIES),
  maxDelaySeconds: orNull(Type.Integer()),
  createdAt: Instant,
  beganAt: instant(
    'When the watch last began: when it was added or resumed, or when its question changed.',
  ),
  pausedAt: orNull(Instant),
}
export const WatchShape = object(watchMembers, { title: 'Watch' })

/** Converts a watch to that shape. */
export function shapeOf({ id, entry, createdAt, beganAt, pausedAt }: Watch) {
  const { question, list, reference, ...settings } = entry
  return { list, reference, watchId: id, ...question, ...settings, createdAt, beganAt, pausedAt }
}
