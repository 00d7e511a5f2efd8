import { type Static, type TSchema, Type } from 'typebox'
import {
  type FareRecordKind,
  isRouteKind,
  kindOf,
  MASS_KINDS,
  REASONS,
  type RouteChangeKind,
  type WatchChangeKind,
} from '../platform/base/change-kinds.ts'
import type { ChangeReason } from '../platform/base/kinds.ts'
import { Instant, instant, object, oneOf, orNull } from '../platform/http/schemas.ts'
import { QUESTION_MEMBERS } from '../upstream/question-shapes.ts'
import { Belief, Flight, NUMBERS, Price } from './change-shapes.ts'

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

const PriceContext = object(
  {
    days: Type.Integer({ description: 'How far back the prices of the fare go, at most 365.' }),
    prices: Type.Integer({
      description: 'How many of these days have one; the lowest of each UTC day counts.',
    }),
    lowest: Type.Boolean({ description: 'Whether none was lower.' }),
    percentile: orNull(
      Type.Integer(),
      'On how many percent of these days the fare was cheaper. Null below ten days with a price.',
    ),
  },
  {
    title: 'PriceContext',
    description: 'The price among those of the fare before, in its currency.',
  },
)

const ATTRIBUTES = {
  iata: Type.String({ description: 'The IATA code. Empty if the lists give none.' }),
  city: Type.String(),
  country: Type.String(),
}
const RoutePlace = object({ id: Type.String(), ...ATTRIBUTES }, { title: 'RoutePlace' })
const PlaceAttributes = object(ATTRIBUTES, { title: 'PlaceAttributes' })

const ShownRoute = object(
  { departure: RoutePlace, destination: RoutePlace },
  { title: 'RecordRoute', description: 'The places as they were then.' },
)
export type ShownRoute = Static<typeof ShownRoute>

const PlaceChange = object(
  { id: Type.String(), before: PlaceAttributes, after: PlaceAttributes },
  { title: 'PlaceChange' },
)
export type PlaceChange = Static<typeof PlaceChange>

const LIST = orNull(
  Type.String(),
  'The present name of the list. Of a deleted watch, the name when the record was written; null in older records.',
)
const VERSION = Type.Integer({
  description:
    'The version of the record. Version 2 added watch_started, version 3 `reason`, version 4 routes.',
})

/** The members of a record about a route or a place, without its numbers. */
function routeMembersOf(kind: RouteChangeKind) {
  const ofWatch = 'Of the watch of the route. Null if `routes` alone chose the record.'
  return {
    kind: oneOf([kind]),
    schemaVersion: VERSION,
    list: LIST,
    reference: orNull(Type.String(), ofWatch),
    watchId: orNull(Type.String({ format: 'uuid' }), ofWatch),
    ...(kind === 'place_changed' ? { place: PlaceChange } : { route: ShownRoute }),
    firstSeenAt: orNull(
      Instant,
      'When the lists had this pair of codes first: a route that is back was seen before. Null of a place.',
    ),
    runId: Type.Integer({ description: 'The run whose list was accepted.' }),
    detectedAt: instant('When the list arrived that showed it first.'),
    recordedAt: Instant,
  }
}

/** The reasons of a kind that has some. */
function reasonOf(reasons: readonly ChangeReason[]): TSchema {
  const meanings = reasons.map((reason) => `${reason}: ${REASONS[reason].about}`)
  return orNull(oneOf(reasons), `${meanings.join(' ')} Null before version 3.`)
}

/** The members of a record about a fare, without its numbers. */
function membersOf(kind: FareRecordKind) {
  const { reasons, example } = kindOf(kind)
  const isStart = example?.before === 'none'
  return {
    kind: oneOf([kind]),
    reason: reasons === undefined ? orNull(Type.String(), 'Null.') : reasonOf(reasons),
    schemaVersion: VERSION,
    list: LIST,
    reference: Type.String(),
    watchId: Type.String({ format: 'uuid' }),
    link: orNull(Type.String(), 'The page of the watch. Null if it has no public address.'),
    ...QUESTION_MEMBERS,
    flights: object(
      { outbound: orNull(Flight), return: orNull(Flight) },
      {
        title: 'RecordFlights',
        description:
          'The flights after the change. One that `after` does not show is taken from `before`, or from the last record ' +
          'of the fare that showed it. Null if none did, or if there is no return flight.',
      },
    ),
    // Types that can only be null are lost by some generators of code.
    before: isStart ? orNull(Belief, 'Null: nothing was known.') : Belief,
    after: Belief,
    lastGoodCheckAt: orNull(
      Instant,
      'The change happened after this instant. Null if nothing was known before.',
    ),
    detectedAt: instant('The change happened by this instant.'),
    ...(isStart ? { observedAt: instant('When the check began that shows `after`.') } : {}),
    intents: Type.Array(Type.String(), {
      description:
        'What the watch wants of a price and the record shows: priceBelow, priceDrop, newLowDays.',
    }),
    saving: orNull(Price, 'By how much the price is below what you paid, of priceDrop.'),
    context: orNull(PriceContext),
    evidence: RecordEvidence,
    recordedAt: Instant,
  }
}

const LINKED_NUMBERS = {
  ...NUMBERS,
  previous: Type.Integer({
    description:
      'The previous `seq` that passes the same filters; 0 if none of the 20,000 records before it since the last restore does, or if it is archived.',
  }),
}

/** @example titleOf('became_available') // 'BecameAvailable' */
export function titleOf(name: string): string {
  return name.replaceAll(/(?:^|[._])(\w)/g, (_, letter: string) => letter.toUpperCase())
}

/** The record of one kind; without its numbers it is an example of one. */
export function recordOf(kind: WatchChangeKind, { isExample = false } = {}): TSchema {
  const about = { description: kindOf(kind).about }
  const members = isRouteKind(kind) ? routeMembersOf(kind) : membersOf(kind)
  return isExample
    ? object(members, about)
    : object({ ...LINKED_NUMBERS, ...members }, { ...about, title: titleOf(kind) })
}
