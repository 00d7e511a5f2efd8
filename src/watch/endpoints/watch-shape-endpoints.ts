import { Type } from 'typebox'
import { Instant, instant, object, orNull } from '../../http/schemas.ts'
import type { Watch } from '../watch-queries.ts'
import { ListParams } from './watch-list-endpoints.ts'

/** The path of a watch: the reseller's own names for the list and for the watch in it. */
export const WatchParams = object({
  ...ListParams.properties,
  reference: Type.String({
    minLength: 1,
    maxLength: 200,
    description: 'Your own name of the watch.',
  }),
})

const Counts = object({ adults: Type.Integer(), children: Type.Integer(), infants: Type.Integer() })

/** What a reseller has said of a watch, and since when it stands so. */
export const WatchShape = object({
  list: Type.String(),
  reference: Type.String(),
  watchId: Type.String({
    description: 'By which records of your feed name it, whatever becomes of its names.',
  }),
  flightId: Type.String(),
  returnFlightId: orNull(Type.String()),
  passengers: object({ residents: Counts, nonResidents: Counts }),
  priceThresholdAmount: orNull(Type.String()),
  priceThresholdPercent: orNull(Type.String()),
  departsOn: orNull(Type.String()),
  minIntervalSeconds: orNull(Type.Integer()),
  createdAt: Instant,
  beganAt: instant('It sees its fare from here on: its creation, another question, a resumption.'),
  pausedAt: orNull(Instant),
})

/** A watch in that shape. */
export function shapeOf({ id, entry, createdAt, beganAt, pausedAt }: Watch) {
  const { question, list, reference, ...settings } = entry
  return { list, reference, watchId: id, ...question, ...settings, createdAt, beganAt, pausedAt }
}
