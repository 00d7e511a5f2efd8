import { airportsByIata } from '../../platform/airports/airports.ts'
import { zoneOffsetMs } from '../../platform/base/local-time.ts'
import { isFields, type JsonPath, localMs, violation } from './flight-fields.ts'

const HOUR_MS = 3_600_000
/** Time zones range from UTC-12 to UTC+14. */
const WIDEST_ZONES_MS = 26 * HOUR_MS
const DAY_MS = 24 * HOUR_MS
const LONGEST_TRIP_MS = 5 * DAY_MS

/** Times of a flight or of one of its segments, local to the places of departure and arrival. */
export interface FlightTimes {
  /** The flight or the segment in the answer. */
  readonly at: JsonPath
  readonly departsAt: string
  readonly arrivesAt: string
  /** The field `duration`, unread. */
  readonly duration: unknown
}

/**
 * Throws UpstreamContractError for times that no flight can have.
 *
 * Local times alone prove little: a flight across the date line arrives before it departs. Impossible is what no time
 * zones explain: arrival − departure − duration outside ±26 h; without a duration, arrival − departure outside −26 h
 * to 5 days; a segment that lies more than 26 h outside the flight; and, if both zones are known, an arrival before
 * the departure or more than 5 days after it.
 */
export function assertPossibleTimes(whole: FlightTimes, segments: readonly FlightTimes[]): void {
  for (const part of [whole, ...segments]) assertPossibleTrip(part)
  const earliest = localMs(whole.departsAt) - WIDEST_ZONES_MS
  const latest = localMs(whole.arrivesAt) + WIDEST_ZONES_MS
  for (const { at, departsAt, arrivesAt } of segments) {
    if (localMs(departsAt) < earliest || localMs(arrivesAt) > latest) {
      throw violation(at, 'outside the times of its flight')
    }
  }
}

function assertPossibleTrip({ at, departsAt, arrivesAt, duration }: FlightTimes): void {
  const local = localMs(arrivesAt) - localMs(departsAt)
  const claimed = durationMs(duration)
  const isPossible =
    claimed === undefined
      ? local >= -WIDEST_ZONES_MS && local <= LONGEST_TRIP_MS
      : Math.abs(local - claimed) <= WIDEST_ZONES_MS
  if (!isPossible) throw violation(at, 'between times that no time zones explain')
  const elapsed = elapsedMs(at.value, departsAt, arrivesAt)
  if (elapsed !== undefined && (elapsed < 0 || elapsed > LONGEST_TRIP_MS)) {
    throw violation(at, 'between times that contradict the time zones of its places')
  }
}

function durationMs(duration: unknown): number | undefined {
  const seconds = isFields(duration) ? duration.seconds : duration
  return typeof seconds === 'number' ? seconds * 1_000 : undefined
}

/**
 * The longest time that two local times allow. Undefined if a place has no known zone.
 *
 * When clocks change, a local time may stand for two instants, so the earlier departure and the later arrival count.
 */
function elapsedMs(value: unknown, departsAt: string, arrivesAt: string): number | undefined {
  const { from, to } = isFields(value) ? value : {}
  const [departure, arrival] = [zoneOf(from), zoneOf(to)]
  if (departure === undefined || arrival === undefined) return undefined
  const departed = localMs(departsAt) - Math.max(...offsetsAround(departure, localMs(departsAt)))
  return localMs(arrivesAt) - Math.min(...offsetsAround(arrival, localMs(arrivesAt))) - departed
}

function offsetsAround(zone: string, local: number): [before: number, after: number] {
  return [zoneOffsetMs(zone, local - DAY_MS), zoneOffsetMs(zone, local + DAY_MS)]
}

function zoneOf(place: unknown): string | undefined {
  const iata = isFields(place) ? place.iata : undefined
  return typeof iata === 'string' ? airportsByIata().get(iata.toUpperCase())?.zone : undefined
}
