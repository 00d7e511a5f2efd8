import { type Static, type TSchema, Type } from 'typebox'
import {
  END_REASONS,
  LOSS_REASONS,
  MASS_KINDS,
  type WatchChangeKind,
} from '../platform/base/kinds.ts'
import { Instant, instant, object, oneOf, orNull } from '../platform/http/schemas.ts'
import { QUESTION_MEMBERS } from '../upstream/question-shapes.ts'
import { Belief, LocalTime, NUMBERS } from './change-shapes.ts'

const FlightEnd = object(
  {
    place: object(
      {
        id: orNull(Type.String(), 'The id of the place in the route lists. Null if unknown.'),
        code: orNull(Type.String(), 'The IATA code. Null if the place has none.'),
        city: orNull(Type.String(), 'Null if the route lists do not have the place.'),
        country: orNull(Type.String()),
      },
      { title: 'FlightPlace' },
    ),
    localTime: LocalTime,
    zone: orNull(
      Type.String(),
      'The IANA time zone: `Europe/Madrid`. Null if the place is no known airport: then only the local time is known.',
    ),
    at: orNull(
      Type.String({ format: 'date-time' }),
      'The same time with its offset from UTC. Null without a zone.',
    ),
  },
  { title: 'FlightEnd' },
)
export type FlightEnd = Static<typeof FlightEnd>

const RecordFlight = object(
  {
    airline: object({
      code: orNull(Type.String(), 'The two-letter code. Null if unknown, and in older records.'),
      name: Type.String({ description: 'Its name, or its code if it has no name.' }),
    }),
    numbers: Type.Array(Type.Integer(), { description: 'Flight numbers, one a segment.' }),
    departure: FlightEnd,
    arrival: FlightEnd,
  },
  { title: 'RecordFlight' },
)
export type RecordFlight = Static<typeof RecordFlight>

const RecordEvidence = object(
  {
    askedAt: orNull(
      Instant,
      'When the request began whose answer decided the change. Null if none did, and in older records.',
    ),
    since: instant('When the request of the first agreeing answer began.'),
    held: orNull(
      object({
        since: Instant,
        incident: orNull(
          object({ id: Type.Integer(), kind: oneOf(MASS_KINDS) }),
          'The mass of such changes that held it.',
        ),
      }),
      'Since when the change waited, because many fares changed at once. Null if it did not.',
    ),
  },
  { title: 'RecordEvidence' },
)
export type RecordEvidence = Static<typeof RecordEvidence>

/** What each kind says, for descriptions. */
const KINDS: Readonly<Record<WatchChangeKind, string>> = {
  watch_started:
    'The watch was added or resumed, or its question changed. `after` is the belief of its fare. The record is written ' +
    'at once if the belief is fresh, else with the first good check, or with the first sight of the fare.',
  became_available: 'The fare can be booked.',
  became_unavailable: 'The fare cannot be booked any more.',
  legs_changed: 'A flight of the fare changed its availability, and the fare cannot be booked.',
  price_changed: 'The price changed by more than the thresholds of the watch.',
  itinerary_changed: 'Times, flight numbers or stops changed.',
  identity_changed: 'The id names another flight.',
  expired: 'The fare, or only the watch, has ended.',
}

/** The reasons of the kinds that have one. */
const REASONS: Partial<Record<WatchChangeKind, TSchema>> = {
  became_unavailable: orNull(
    oneOf(LOSS_REASONS),
    'sold_out, sales_closed (confirmed less than 3 hours before departure), or unknown (within a day of a departure in ' +
      'an unknown time zone). Null before version 3.',
  ),
  expired: orNull(
    oneOf(END_REASONS),
    'departed, departs_on_passed, or never_available. Null before version 3.',
  ),
}

/** The members of a record of one kind, without its numbers. */
function membersOf(kind: WatchChangeKind) {
  const isStart = kind === 'watch_started'
  return {
    kind: oneOf([kind]),
    reason: REASONS[kind] ?? Type.Null(),
    schemaVersion: Type.Integer({
      description: 'The version of the record. Version 2 added watch_started, version 3 `reason`.',
    }),
    list: orNull(
      Type.String(),
      'The present name of the list. Of a deleted watch, the name when the record was written; null in older records.',
    ),
    reference: Type.String(),
    watchId: Type.String(),
    link: orNull(Type.String(), 'The page of the watch. Null if it has no public address.'),
    ...QUESTION_MEMBERS,
    flights: object(
      { outbound: orNull(RecordFlight), return: orNull(RecordFlight) },
      {
        title: 'RecordFlights',
        description:
          'The flights after the change. One that `after` does not show is taken from `before`, or from the last record ' +
          'of the fare that showed it. Null if none did, or if there is no return flight.',
      },
    ),
    before: isStart ? Type.Null() : Type.Unsafe<unknown>(Belief),
    after: Type.Unsafe<unknown>(Belief),
    lastGoodCheckAt: orNull(
      Instant,
      'The change happened after this instant. Null if nothing was known before.',
    ),
    detectedAt: instant('The change happened by this instant.'),
    ...(isStart ? { observedAt: instant('When the check began that shows `after`.') } : {}),
    evidence: RecordEvidence,
    recordedAt: Instant,
  }
}

const LINKED_NUMBERS = {
  ...NUMBERS,
  previous: Type.Integer({
    description:
      'The previous `seq` that passes the same filters; 0 if none of the 20,000 records before it does, or if it is archived.',
  }),
}

/** @example titleOf('became_available') // 'BecameAvailable' */
export function titleOf(name: string): string {
  return name.replaceAll(/(?:^|[._])(\w)/g, (_, letter: string) => letter.toUpperCase())
}

/** The record of one kind; without its numbers it is an example of one. */
export function recordOf(kind: WatchChangeKind, { isExample = false } = {}): TSchema {
  const about = { description: KINDS[kind] }
  return isExample
    ? object(membersOf(kind), about)
    : object({ ...LINKED_NUMBERS, ...membersOf(kind) }, { ...about, title: titleOf(kind) })
}

/** A union whose schemas differ by the only value of one member. */
export function unionBy(member: string, title: string, schemas: Readonly<Record<string, TSchema>>) {
  const mapping = Object.keys(schemas).map((name) => [
    name,
    `#/components/schemas/${(schemas[name] as { title?: string }).title}`,
  ])
  return Type.Union(Object.values(schemas), {
    title,
    discriminator: { propertyName: member, mapping: Object.fromEntries(mapping) as object },
  })
}
