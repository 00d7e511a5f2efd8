import { zoneOf } from '../../platform/airports/airports.ts'
import type { LossReason, UnknownReason } from '../../platform/base/kinds.ts'
import { instantOfLocal } from '../../platform/base/local-time.ts'
import type {
  FlightSummary,
  LegObservation,
  Observation,
  ObservedFlight,
} from '../../upstream/observation.ts'
import { type FareState, type FareView, type LegView, legOf, viewOf } from './fare-state.ts'

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
export function isPast(flight: FlightSummary, at: Date): boolean {
  return departureOf(flight).at <= at.getTime()
}

function departuresOf({ belief, lastFlights }: KnownFlights): Departure[] {
  const flights = [
    belief.outbound.flight ?? lastFlights.outbound,
    belief.return?.flight ?? lastFlights.return,
  ]
  return flights.flatMap((flight) => (flight ? [departureOf(flight)] : []))
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
  { belief, lastFlights, lastGoodCheckAt }: FareState,
  { askedAt, observation }: Pick<Answer, 'askedAt' | 'observation'>,
): Pick<Observation, 'outbound' | 'return'> {
  const { outbound, return: back } = observation
  const isOld = askedAt.getTime() - Date.parse(lastGoodCheckAt ?? '') > MOST_SWAPPED_MS
  if (belief.return === null || back === null || isOld) return observation
  const known = [
    belief.outbound.flight ?? lastFlights.outbound,
    belief.return.flight ?? lastFlights.return,
  ] as const
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
