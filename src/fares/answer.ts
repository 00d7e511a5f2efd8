import { zoneOf } from '../platform/airports/airports.ts'
import {
  CONTRADICTIONS,
  type Contradiction,
  everyLeg,
  hasPrices,
  isSameFlight,
  kindsBetween,
  legContradiction,
  type ReadFare,
  samePrices,
} from '../platform/base/change-kinds.ts'
import type { FareChangeKind, LossReason, UnknownReason } from '../platform/base/kinds.ts'
import { instantOfLocal } from '../platform/base/local-time.ts'
import { type Money, toCents } from '../platform/base/money.ts'
import type {
  FlightSummary,
  LegObservation,
  Observation,
  ObservedFlight,
} from '../upstream/observation.ts'
import { type FareState, type FareView, type LegView, legOf, legsOf, viewOf } from './state.ts'

const HOUR_MS = 3_600_000
/** The clocks of UTC−12 are the last to show a local time. */
const LATEST_ZONE_MS = 12 * HOUR_MS
/** Sales of a flight close at most this long before its departure. */
const SALES_CLOSE_MS = 3 * HOUR_MS
const DAY_MS = 24 * HOUR_MS

type KnownFlights = Pick<FareState, 'belief' | 'lastFlights'>

/**
 * When a flight departs, in milliseconds. Without a known zone, it departs by then: it is the latest possible
 * instant.
 */
interface Departure {
  readonly at: number
  /** The local time, read as if it were UTC. */
  readonly local: number
  readonly zoneIsKnown: boolean
}

/**
 * When a fare departs, as an ISO instant: with the first of its flights that is known. Null if no flight is known.
 *
 * A pair can no longer be bought once one of its flights has departed. The flight of a leg that sold out is still
 * known.
 */
export function departsAt(state: KnownFlights): string | null {
  const instants = departuresOf(state).map(({ at }) => at)
  return instants.length === 0 ? null : new Date(Math.min(...instants)).toISOString()
}

/**
 * Why a fare was lost, by the time that is left until its departure when the loss is confirmed.
 *
 * Where the time zone is unknown, a loss within a day of the local departure time, read as UTC, may be a closed
 * sale or a departure: zones are at most 14 hours apart from UTC.
 */
export function lossReason(state: KnownFlights, confirmedAt: string): LossReason {
  const now = Date.parse(confirmedAt)
  const departures = departuresOf(state)
  if (departures.some(({ at, zoneIsKnown }) => zoneIsKnown && at - now < SALES_CLOSE_MS)) {
    return 'sales_closed'
  }
  return departures.some(({ local, zoneIsKnown }) => !zoneIsKnown && local - now < DAY_MS)
    ? 'unknown'
    : 'sold_out'
}

/**
 * Whether an answer shows a departure that has passed and is not the known one. No such flight can be sold, so the
 * answer is wrong.
 */
function isPastAtFirstSight(
  known: FlightSummary | null,
  { flight }: ObservedFlight,
  askedAt: string,
): boolean {
  return known?.departsAt !== flight.departsAt && isPast(flight, new Date(askedAt))
}

/** Whether a flight has departed by an instant, wherever on earth. */
function isPast(flight: FlightSummary, at: Date): boolean {
  return departureOf(flight).at <= at.getTime()
}

function departuresOf(state: KnownFlights): Departure[] {
  return knownFlights(state).flatMap((flight) => (flight ? [departureOf(flight)] : []))
}

function knownFlights({ belief, lastFlights }: KnownFlights) {
  const back = belief.return?.flight ?? lastFlights.return
  return [belief.outbound.flight ?? lastFlights.outbound, back] as const
}

function departureOf({ from, departsAt, departsBy }: FlightSummary): Departure {
  const local = Date.parse(`${departsAt.replace(' ', 'T')}:00Z`)
  if (departsBy !== undefined) return { at: Date.parse(departsBy), local, zoneIsKnown: false }
  const zone = zoneOf(from)
  return zone === undefined
    ? { at: local + LATEST_ZONE_MS, local, zoneIsKnown: false }
    : { at: instantOfLocal(zone, local), local, zoneIsKnown: true }
}

export interface Answer {
  /** When the answer was made, by the database's clock: its request began then, or its `Age` before. */
  readonly askedAt: Date
  readonly observation: Observation
  /** The usual time between two checks of the fare. */
  readonly intervalSeconds: number
}

/** How the metrics count one leg of a check. */
export type LegOutcome = 'available' | 'unavailable' | `unknown:${UnknownReason}`

/** One answer as a reading of the fare. */
export interface Reading {
  readonly view: FareView
  readonly outcome: { readonly outbound: LegOutcome; readonly return: LegOutcome | null }
  /** Whether the price is doubtful for itself: zero, or unlike the sum of its parts. */
  readonly isOdd: boolean
  readonly past: boolean
  readonly at: string
}

/** An answer that leaves out a leg says nothing of it. */
export const LEFT_OUT: LegObservation = { kind: 'unknown', reason: 'id_missing' }

/** Reads an answer as one reading of the whole fare. */
export function readingOf(state: FareState, { askedAt, observation }: Answer): Reading {
  const at = askedAt.toISOString()
  const hasDeparted = Date.parse(departsAt(state) ?? '') <= askedAt.getTime()
  const read = (
    believed: LegView,
    last: FareState['lastFlights']['outbound'],
    leg: LegObservation,
  ) => {
    const known = believed.flight ?? last
    const isPast = leg.kind === 'available' && isPastAtFirstSight(known, leg.flight, at)
    if (isPast) return { leg: { kind: 'unknown', reason: 'contract_violation' } as const, isPast }
    // No flight is sold after its departure: of a fare whose end a mass holds, that is no loss.
    const isGone = leg.kind === 'unavailable' && hasDeparted
    return { leg: isGone ? LEFT_OUT : leg, isPast }
  }
  const { belief, lastFlights } = state
  const shown = withoutSwaps(state, { askedAt, observation })
  const outbound = read(belief.outbound, lastFlights.outbound, shown.outbound)
  const back = belief.return && read(belief.return, lastFlights.return, shown.return ?? LEFT_OUT)
  const legs = [outbound, ...(back ? [back] : [])]
  return {
    view: viewOf(legOf(outbound.leg), back && legOf(back.leg)),
    outcome: {
      outbound: outcomeOf(outbound.leg, belief.outbound),
      return: back && belief.return && outcomeOf(back.leg, belief.return),
    },
    isOdd: legs.some(({ leg }) => leg.kind === 'available' && leg.flight.priceIsOdd),
    past: legs.some(({ isPast }) => isPast),
    at,
  }
}

/** After so long without a good check, the belief itself may have the legs swapped. */
const MOST_SWAPPED_MS = HOUR_MS

/**
 * Where a leg shows the flight that is known of the other one, also of one that is sold out, legs say nothing but of
 * their own flights: what the answer says of a flight without showing it belongs to the other one too.
 */
function withoutSwaps(
  state: FareState,
  { askedAt, observation }: Pick<Answer, 'askedAt' | 'observation'>,
): Pick<Observation, 'outbound' | 'return'> {
  const { outbound, return: back } = observation
  const isOld = askedAt.getTime() - Date.parse(state.lastGoodCheckAt ?? '') > MOST_SWAPPED_MS
  if (state.belief.return === null || back === null || isOld) return observation
  const known = knownFlights(state)
  const legs = [outbound, back] as const
  const own = legs.map((leg, at) => shows(leg, known[at]))
  if (!legs.some((leg, at) => !own[at] && shows(leg, known[1 - at]))) return observation
  return { outbound: own[0] ? outbound : OTHER_FLIGHT, return: own[1] ? back : OTHER_FLIGHT }
}

const OTHER_FLIGHT: LegObservation = { kind: 'unknown', reason: 'other_flight' }

/** Whether a leg shows a known flight, whatever has moved within its day. */
function shows(leg: LegObservation, known: FlightSummary | null | undefined): boolean {
  return leg.kind === 'available' && !!known && tripOf(known) === tripOf(leg.flight.flight)
}

function tripOf({ airlineCode, airline, from, to, numbers, departsAt }: FlightSummary): string {
  return [airlineCode ?? airline, from, to, numbers.length, departsAt.slice(0, 10)].join(' ')
}

function outcomeOf(leg: LegObservation, believed: LegView): LegOutcome {
  if (leg.kind === 'unknown') return `unknown:${leg.reason}`
  const isOther =
    leg.kind === 'available' &&
    believed.identity !== null &&
    believed.identity !== leg.flight.identity
  return isOther ? 'unknown:identity_mismatch' : leg.kind
}

/** A leg as it is believed, and as an answer shows it. */
export interface LegPair {
  readonly leg: 'outbound' | 'return'
  readonly was: LegView
  readonly is: LegView
}

export function pairsOf(belief: FareView, reading: FareView): LegPair[] {
  const pairs: LegPair[] = [{ leg: 'outbound', was: belief.outbound, is: reading.outbound }]
  if (belief.return && reading.return) {
    pairs.push({ leg: 'return', was: belief.return, is: reading.return })
  }
  return pairs
}

export function isComplete(reading: FareView): boolean {
  return legsOf(reading).every((leg) => leg.belief !== 'unknown')
}

/** A price that differs by at most so many percent is near. */
const NEAR = 10n

/**
 * How a reading contradicts a belief; null if it agrees, or says nothing. An unavailable leg says so whatever the
 * other leg shows; everything else takes a complete reading.
 *
 * @param isOdd whether the price of the reading is doubtful for itself.
 */
export function contradictionOf(
  belief: FareView,
  reading: FareView,
  isOdd: boolean,
): Contradiction | null {
  const found = pairsOf(belief, reading).map(legContradiction)
  const first = CONTRADICTIONS.find((contradiction) => found.includes(contradiction))
  if (first === 'loss') return first
  if (!isComplete(reading)) return null
  return first ?? priceContradiction(belief, reading, isOdd)
}

/** An unreadable price contradicts nothing. */
function priceContradiction(
  belief: FareView,
  reading: FareView,
  isOdd: boolean,
): Contradiction | null {
  if (reading.pair !== 'bookable' || !hasPrices(reading) || samePrices(belief, reading)) return null
  if (isOdd) return 'far_price'
  return areWithin(belief, reading, NEAR) ? 'near_price' : 'far_price'
}

/** Whether two readings show the same at any price, itinerary and site. */
function areAlike(one: FareView, other: FareView): boolean {
  const currency = (leg: LegView) => leg.price?.currency ?? null
  return pairsOf(one, other).every(
    ({ was, is }) =>
      was.belief === is.belief && was.identity === is.identity && currency(was) === currency(is),
  )
}

/**
 * Whether a reading shows the `same` as a candidate: availability by leg, identity, itinerary, site, currency, and
 * amounts that differ by at most a fifth; or is `alike`, itinerary, site and amounts apart. A loss is the same where one leg
 * is lost in both, whatever the other shows.
 */
export function agreementOf(
  contradiction: Contradiction,
  views: { readonly belief: FareView; readonly candidate: FareView; readonly reading: FareView },
) {
  const { belief, candidate, reading } = views
  if (contradiction === 'loss') {
    const lost = (view: FareView) =>
      pairsOf(belief, view).map(
        ({ was, is }) => is.belief === 'unavailable' && was.belief !== 'unavailable',
      )
    const before = lost(candidate)
    const same = lost(reading).some((isLost, at) => isLost && before[at])
    return { same, alike: same }
  }
  return { same: isSame(candidate, reading), alike: areAlike(candidate, reading) }
}

/** Whether two readings show the same, and amounts that differ by at most a fifth. */
export function isSame(one: ReadFare, other: ReadFare): boolean {
  return isSameFlight(one, other) && areWithin(one, other, 20n)
}

/**
 * Whether every leg, and the sum, has a price in the same currency that differs by at most this share; or none in
 * both.
 */
export function areWithin(one: ReadFare, other: ReadFare, percent: bigint): boolean {
  const areLegs = everyLeg(one, other, (was, is) => isWithin(was.price, is.price, percent))
  return areLegs && isWithin(one.price, other.price, percent)
}

/** Whether neither amount is there, or both have one currency and differ by at most this share of the first. */
export function isWithin(from: Money | null, to: Money | null, percent: bigint): boolean {
  if (from === null || to === null) return from === to
  if (from.currency !== to.currency) return false
  const before = toCents(from.amount)
  const difference = toCents(to.amount) - before
  return 100n * (difference < 0n ? -difference : difference) <= percent * before
}

/** A confirmed change: it happened after `lastGoodCheckAt` (null: nothing was known) and by `detectedAt`. */
export interface FareChange {
  readonly kind: FareChangeKind
  /** Null except for `became_unavailable`. */
  readonly reason: LossReason | null
  readonly before: FareView
  readonly after: FareView
  /** When the last check began that showed what was believed before. */
  readonly lastGoodCheckAt: string | null
  /** When the first check began that contradicted it. */
  readonly detectedAt: string
  /** Since when a mass held it; null if none did. */
  readonly heldSince: string | null
}

interface Interval {
  /** When the first check began that contradicted the belief. */
  readonly since: string
  readonly at: string
  readonly heldSince: string | null
}

/**
 * Names what differs between what was recorded last and what is believed now. Where nothing was believed, that is the
 * first sight of the fare, whatever it shows. All records of a check share `before` and `after`: no state in between was
 * believed, and `after` shows the changes that another one includes.
 */
export function changesOf(
  state: FareState,
  { belief: after, lastFlights }: KnownFlights,
  { since, at, heldSince }: Interval,
): FareChange[] {
  const before = state.belief
  const isFirst = legsOf(before).every((leg) => leg.belief === 'unknown')
  const kinds = isFirst ? (['first_seen'] as const) : kindsBetween(before, after)
  return kinds.map((kind) => {
    const reason =
      kind === 'became_unavailable' ? lossReason({ belief: after, lastFlights }, at) : null
    // Good checks go on while a price is contradicted, and none of them has shown the old price.
    const lastGoodCheckAt = kind === 'price_changed' ? state.pricedAt : state.lastGoodCheckAt
    return { kind, reason, before, after, lastGoodCheckAt, detectedAt: since, heldSince }
  })
}
