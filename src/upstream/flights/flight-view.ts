import type { AnswerAnomaly, ObservedFlight, PassengerMix } from '../observation.ts'
import {
  breach,
  idText,
  isFields,
  localMs,
  readFlightNumber,
  readId,
  readLocalTime,
  type Spot,
  spotAt,
} from './flight-fields.ts'
import { judgePrice } from './flight-price.ts'
import { typeFaults } from './flight-types.ts'

/** More of them than any flight has; the cap bounds what we store of one. */
const MAX_HOPS = 12
/** Zones lie between UTC-12 and UTC+14. */
const WIDEST_ZONES_S = 26 * 3600
/** Every zone is so many seconds, or a multiple, from every other. */
const ZONE_STEP_S = 15 * 60

export interface ViewContext {
  /** The flight id under which the flight stands. */
  readonly id: string
  readonly passengers: PassengerMix
  /** Makes a text of the upstream fit to be stored and shown. */
  readonly show: (text: string) => string
}

/**
 * Takes from a flight what we compare and show of it, and counts what is odd.
 *
 * Strict where it is identity or itinerary: a field of them that is missing today and back tomorrow would be
 * recorded as a change of flight. Throws UpstreamContractError for such a flight.
 */
export function viewFlight(
  value: unknown,
  { id, passengers, show }: ViewContext,
): { flight: ObservedFlight; anomalies: AnswerAnomaly[] } {
  const spot: Spot = { value, path: 'flight' }
  const hops = readHops(spot)
  const whole = readStretch(spot)
  const identity = identityOf(spot, { hops, departsAt: whole.departsAt })
  const { price, anomalies } = judgePrice(spotAt(spot, 'price').value, passengers)
  if ([whole, ...hops].some(isDurationUnlikeTimes)) anomalies.push('duration_unlike_times')
  if (idText(spotAt(spot, 'id').value) !== id) anomalies.push('flight_id_unlike_key')
  anomalies.push(...typeFaults(spot))
  const flight: ObservedFlight = {
    price,
    identity,
    itinerary: itineraryOf(whole, hops),
    departsAt: whole.departsAt,
    flight: {
      from: placeName(spotAt(spot, 'from'), show),
      to: placeName(spotAt(spot, 'to'), show),
      airline: airlineName(spotAt(spot, 'airline'), show),
      numbers: hops.map((hop) => hop.number),
      departsAt: whole.departsAt,
      arrivesAt: whole.arrivesAt,
      stops: hops.slice(1).map((hop) => placeName(hop.from, show)),
    },
  }
  return { flight, anomalies }
}

/** Times and duration of a flight or of one hop. */
interface Stretch {
  readonly departsAt: string
  readonly arrivesAt: string
  readonly duration: unknown
}

/** One of the flight's own legs; `leg` is our word for the outbound or the return flight. */
interface Hop extends Stretch {
  readonly number: number
  readonly from: Spot
  readonly fromId: string
  readonly toId: string
}

function readHops(flight: Spot): Hop[] {
  const legs = spotAt(flight, 'legs')
  const { value } = legs
  if (!Array.isArray(value)) throw breach(legs, 'no list')
  if (value.length === 0 || value.length > MAX_HOPS) {
    throw breach(legs, `a list of ${value.length}, not of 1 to ${MAX_HOPS}`)
  }
  return value.map((element: unknown, index) => readHop({ value: element, path: `legs[${index}]` }))
}

function readHop(spot: Spot): Hop {
  return {
    ...readStretch(spot),
    number: readFlightNumber(spotAt(spot, 'number')),
    from: spotAt(spot, 'from'),
    fromId: readId(spotAt(spot, 'from', 'id')),
    toId: readId(spotAt(spot, 'to', 'id')),
  }
}

function readStretch(spot: Spot): Stretch {
  return {
    departsAt: readLocalTime(spotAt(spot, 'dates', 'departure')),
    arrivesAt: readLocalTime(spotAt(spot, 'dates', 'arrival')),
    duration: spotAt(spot, 'duration').value,
  }
}

/** All parts are digits, so that no two identities can make one text. */
function identityOf(
  flight: Spot,
  { hops, departsAt }: { hops: readonly Hop[]; departsAt: string },
): string {
  const airline = readId(spotAt(flight, 'airline', 'id'))
  const from = readId(spotAt(flight, 'from', 'id'))
  const to = readId(spotAt(flight, 'to', 'id'))
  return `airline ${airline}, legs ${hops.length}, ${from} to ${to}, ${departsAt.slice(0, 10)}`
}

/** @example '2026-07-20 08:00 to 2026-07-20 09:15; 123: 101 2026-07-20 08:00 to 103 2026-07-20 09:15' */
function itineraryOf(whole: Stretch, hops: readonly Hop[]): string {
  const parts = hops.map(
    ({ number, fromId, departsAt, toId, arrivesAt }) =>
      `${number}: ${fromId} ${departsAt} to ${toId} ${arrivesAt}`,
  )
  return [`${whole.departsAt} to ${whole.arrivesAt}`, ...parts].join('; ')
}

/** The times are local at two places, so that a difference of zones is no contradiction. */
function isDurationUnlikeTimes({ departsAt, arrivesAt, duration }: Stretch): boolean {
  const seconds = isFields(duration) ? duration.seconds : duration
  if (seconds === undefined || seconds === null) return false
  if (typeof seconds !== 'number') return true
  const offBy = (localMs(arrivesAt) - localMs(departsAt)) / 1000 - seconds
  return Math.abs(offBy) > WIDEST_ZONES_S || offBy % ZONE_STEP_S !== 0
}

function placeName({ value }: Spot, show: ViewContext['show']): string {
  return firstText(value, ['iata', 'city', 'id'], show)
}

function airlineName({ value }: Spot, show: ViewContext['show']): string {
  return firstText(value, ['name', 'twoLetterCode', 'id'], show)
}

/** The first of the fields that has something to show. */
function firstText(value: unknown, names: readonly string[], show: ViewContext['show']): string {
  const fields = isFields(value) ? value : {}
  const texts = names.map((name) => {
    const text = fields[name]
    return typeof text === 'string' ? show(text) : (idText(text) ?? '')
  })
  return texts.find((text) => text !== '') ?? ''
}
