import { airportsByIata } from '../../platform/airports/airports.ts'
import type { LossReason } from '../../platform/base/kinds.ts'
import { instantOfLocal } from '../../platform/base/local-time.ts'
import type { FlightSummary, ObservedFlight } from '../../upstream/observation.ts'
import type { FareState } from './fare-state.ts'

const HOUR_MS = 3_600_000
/** The clocks of UTC−12 are the last to show a local time. */
const LATEST_ZONE_MS = 12 * HOUR_MS
/** Sales of a flight close at most this long before its departure. */
const SALES_CLOSE_MS = 3 * HOUR_MS
const DAY_MS = 24 * HOUR_MS

type KnownFlights = Pick<FareState, 'belief' | 'lastFlights'>

/** When a flight departs, in milliseconds. Without a known zone, it departs by then: it is the latest possible instant. */
interface Departure {
  readonly at: number
  readonly zoneIsKnown: boolean
}

/**
 * When a fare departs, as an ISO instant: with the first of its flights that is known. Null if no flight is known.
 *
 * A pair can no longer be bought once one of its flights has departed. The flight of a leg that sold out is still known.
 */
export function departsAt(state: KnownFlights): string | null {
  const instants = departuresOf(state).map(({ at }) => at)
  return instants.length === 0 ? null : new Date(Math.min(...instants)).toISOString()
}

/**
 * Why a fare was lost, by the time that is left until its departure when the loss is confirmed.
 *
 * Where the time zone is unknown, a loss within a day of the local departure time, read as UTC, may be a closed sale or a
 * departure: zones are at most 14 hours apart from UTC.
 */
export function lossReason(state: KnownFlights, confirmedAt: string): LossReason {
  const now = Date.parse(confirmedAt)
  const departures = departuresOf(state)
  if (departures.some(({ at, zoneIsKnown }) => zoneIsKnown && at - now < SALES_CLOSE_MS)) {
    return 'sales_closed'
  }
  return departures.some(
    ({ at, zoneIsKnown }) => !zoneIsKnown && at - now < DAY_MS + LATEST_ZONE_MS,
  )
    ? 'unknown'
    : 'sold_out'
}

/**
 * Whether an answer shows a departure that has passed and is not the known one. No such flight can be sold, so the answer
 * is wrong.
 */
export function isPastAtFirstSight(
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

/** A place without an IATA code is shown by its city or id, which is no code of an airport. */
function departureOf({ from, departsAt }: FlightSummary): Departure {
  const local = Date.parse(`${departsAt.replace(' ', 'T')}:00Z`)
  const zone = airportsByIata().get(from.toUpperCase())?.zone
  return zone === undefined
    ? { at: local + LATEST_ZONE_MS, zoneIsKnown: false }
    : { at: instantOfLocal(zone, local), zoneIsKnown: true }
}
