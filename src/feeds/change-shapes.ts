import { type Static, type TSchema, Type } from 'typebox'
import {
  AVAILABILITY_CHANGE_KINDS,
  ROUTE_CHANGE_KINDS,
  WATCH_CHANGE_KINDS,
} from '../platform/base/change-kinds.ts'
import {
  BELIEF_STATES,
  BELIEFS,
  CHANGE_REASONS,
  SHOWN_PRICE_REASONS,
} from '../platform/base/kinds.ts'
import {
  Instant,
  instant,
  MAX_WHOLE_NUMBER,
  object,
  oneOf,
  orNull,
  RowId,
  unionBy,
} from '../platform/http/schemas.ts'
import { QUESTION_MEMBERS } from '../upstream/question-shapes.ts'

export const Price = object(
  { amount: Type.String({ description: 'Decimal text: `123.40`.' }), currency: Type.String() },
  { title: 'Price' },
)

const FlightPlace = object(
  {
    iata: orNull(Type.String(), 'The IATA code. Null if the place has none.'),
    id: orNull(
      Type.String(),
      'Its id in the route lists. Null in older records, as are the next two.',
    ),
    city: orNull(Type.String()),
    country: orNull(Type.String()),
  },
  { title: 'FlightPlace' },
)
export type FlightPlace = Static<typeof FlightPlace>

const FlightEnd = object(
  {
    place: FlightPlace,
    localTime: Type.String({ description: 'Local time at the place, `YYYY-MM-DD HH:MM`.' }),
    zone: orNull(
      Type.String(),
      'The IANA time zone: `Europe/Madrid`. Null if the place is no known airport, or if the answer contradicts the zone ' +
        'that farewatch knows: then only the local time is known.',
    ),
    at: orNull(
      Type.String({ format: 'date-time' }),
      'The same time with its offset from UTC. Null without a zone.',
    ),
  },
  { title: 'FlightEnd' },
)
export type FlightEnd = Static<typeof FlightEnd>

const Site = object(
  {
    id: orNull(Type.String()),
    name: orNull(Type.String()),
    url: orNull(
      Type.String(),
      'A text of the upstream, of any scheme: link it only if it begins with `https://`. Null if it is longer than 300 characters.',
    ),
  },
  { title: 'Site' },
)

/** The one shape of a flight, in records, views and messages. */
export const Flight = object(
  {
    airline: object({
      iata: orNull(Type.String(), 'The two-letter code. Null if unknown, and in older records.'),
      name: Type.String({ description: 'Its name, or its code if it has no name.' }),
    }),
    numbers: Type.Array(Type.Integer(), { description: 'Flight numbers, one a segment.' }),
    departure: FlightEnd,
    arrival: FlightEnd,
    stops: Type.Array(FlightPlace, { description: 'The places in between.' }),
    site: orNull(Site, 'Who sells it. Null if the upstream named no site, and in older records.'),
  },
  { title: 'Flight' },
)
export type Flight = Static<typeof Flight>

const PassengerPrices = object(
  { adult: orNull(Price), child: orNull(Price), infant: orNull(Price) },
  {
    title: 'PassengerPrices',
    description: 'The price of one passenger of each type. Null if the upstream prices none.',
  },
)

export const Leg = object(
  {
    belief: oneOf(BELIEFS, { title: 'LegBelief' }),
    price: orNull(Price, 'The total for all passengers. Null unless the fare is bookable.'),
    passengerPrices: orNull(
      object({ residents: PassengerPrices, nonResidents: PassengerPrices }),
      'What each passenger costs. Null where `price` is, and in older records.',
    ),
    flight: orNull(
      Flight,
      'Null if the leg is not available. The `before` of a loss names the flight.',
    ),
  },
  { title: 'Leg' },
)

/** The belief of a fare: now, and before and after a change. */
export const Belief = object(
  {
    state: oneOf(BELIEF_STATES, {
      title: 'BeliefState',
      description:
        'bookable: all legs are available. not_bookable: a leg is unavailable. unknown: otherwise.',
    }),
    outbound: Leg,
    return: orNull(Leg),
    price: orNull(
      Price,
      'The sum of the legs for all passengers. Null unless the fare is bookable and all legs have one currency.',
    ),
    priceReason: Type.Optional(
      oneOf(SHOWN_PRICE_REASONS, {
        title: 'PriceReason',
        description:
          'Why a bookable fare has no price; missing otherwise, and in records of older versions. unconfirmed: the answer ' +
          'shows a price that is doubtful for itself, or prices of many fares change at once; it follows as price_changed.',
      }),
    ),
  },
  { title: 'Belief' },
)
export type Belief = Static<typeof Belief>

const name = (description: string) =>
  Type.Optional(Type.String({ minLength: 1, maxLength: 200, description }))

export const AvailabilityChangeKind = oneOf(AVAILABILITY_CHANGE_KINDS, {
  title: 'AvailabilityChangeKind',
})
export const WatchChangeKind = oneOf(WATCH_CHANGE_KINDS, { title: 'WatchChangeKind' })

/** The parameters that filter a reseller's feed. */
export const FILTERS = {
  kinds: Type.Optional(
    Type.Array(WatchChangeKind, {
      minItems: 1,
      maxItems: WATCH_CHANGE_KINDS.length,
      description: 'Only changes of these kinds.',
    }),
  ),
  list: name('Only changes of watches of this list.'),
  reference: name('Only changes of the watches with this reference.'),
  flightId: name('Only changes of watches with this outbound or return flight.'),
}

export const RouteChangeKind = oneOf(ROUTE_CHANGE_KINDS, { title: 'RouteChangeKind' })
const MaybeText = orNull(Type.String())

const State = orNull(
  unionBy('type', 'RouteChangeState', [
    object(
      { type: oneOf(['route']), available: orNull(Type.Boolean(), 'Null if unknown.') },
      { title: 'RouteState' },
    ),
    object(
      {
        type: oneOf(['place']),
        iata: Type.String(),
        city: Type.String(),
        country: Type.String(),
      },
      { title: 'PlaceState' },
    ),
  ]),
)

/** The number of a record in any feed. */
export const NUMBERS = {
  seq: Type.Integer({
    description:
      'The number of the record in the feed. Numbers have no gaps, except where the database was restored from a backup: then ' +
      'they go on at the next multiple of 10,000,000,000, and changes shortly before may have no record.',
  }),
}

/** A record of the feed of all routes. */
export const RouteChange = object(
  {
    ...NUMBERS,
    previous: Type.Integer({
      description:
        'The previous `seq` that passes the same filters; 0 if none of the 100,000 records before it since the last restore does, or if it is archived.',
    }),
    id: Type.String({ format: 'uuid' }),
    kind: RouteChangeKind,
    // Both are null in a change of a place, where `placeId` is not.
    departureId: MaybeText,
    destinationId: MaybeText,
    placeId: MaybeText,
    before: State,
    after: State,
    lastSeenAt: orNull(
      Instant,
      'The valid time of the last list that still showed `before`. The change happened after it.',
    ),
    firstMissedAt: instant(
      'The valid time of the first list that no longer showed `before`. The change happened by then.',
    ),
    recordedAt: Instant,
    runId: Type.Integer(),
  },
  { title: 'RouteChange' },
)
export type RouteChange = Static<typeof RouteChange>

/** A record of the feed of all fares. */
export const AvailabilityChange = object(
  {
    ...NUMBERS,
    id: Type.String({ format: 'uuid' }),
    kind: AvailabilityChangeKind,
    reason: orNull(oneOf(CHANGE_REASONS, { title: 'ChangeReason' })),
    fareId: RowId,
    ...QUESTION_MEMBERS,
    before: Belief,
    after: Belief,
    lastGoodCheckAt: orNull(Instant, 'The change happened after this instant. Null if unknown.'),
    detectedAt: Instant,
    heldSince: orNull(Instant, 'Since when a mass of such changes held it. Null if none did.'),
    recordedAt: Instant,
  },
  { title: 'AvailabilityChange' },
)
export type AvailabilityChange = Static<typeof AvailabilityChange>

/** The upstream's answer that a change was decided on. */
export const ChangeEvidence = object(
  {
    status: orNull(
      Type.Integer(),
      'The HTTP status of the answer. Null if the record follows from no answer, such as the end of a fare.',
    ),
    latencyMs: orNull(Type.Number()),
    answer: orNull(
      Type.String(),
      'The answer as text, without credentials. Null if there was none, or if it is older than 90 days.',
    ),
  },
  { title: 'ChangeEvidence' },
)
export type ChangeEvidence = Static<typeof ChangeEvidence>

/** The number of a record in a path. */
export const RecordParams = object({
  seq: Type.Integer({ minimum: 1, maximum: MAX_WHOLE_NUMBER }),
})

/** The parameters `after` and `limit` of every feed. */
export const PAGE_PARAMETERS = {
  after: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: MAX_WHOLE_NUMBER,
      description:
        'The number after which the page begins: `seq` of the previous page or of a list’s state. Default: before the first record that the feed still has.',
    }),
  ),
  limit: Type.Integer({
    minimum: 1,
    maximum: 1000,
    default: 100,
    description: 'The maximum number of items on the page.',
  }),
}

/** The answer of an operation that lists a feed. */
export function changePage<T extends TSchema>(
  item: T,
  head = 'The number of the last record of the feed.',
  options = {},
) {
  return {
    about: 'The records after a number, oldest first.',
    schema: object(
      {
        items: Type.Array(item),
        seq: Type.Integer({
          description: 'The `after` of the next request. All records up to it were read.',
        }),
        first: Type.Integer({
          description:
            'The first number that the feed still has: 1 unless old records are archived. A smaller `after` than the one before it is the problem `changes.archived`.',
        }),
        head: Type.Integer({ description: head }),
      },
      options,
    ),
  }
}
