import type { AnswerAnomaly, ObservedFlight, PassengerMix } from '../observation.ts'
import { typeAnomalies } from './flight-anomalies.ts'
import {
  idText,
  isFields,
  type JsonPath,
  localMs,
  pathTo,
  readFlightNumber,
  readId,
  readLocalTime,
  violation,
} from './flight-fields.ts'
import { readPrice } from './flight-price.ts'
import { assertPossibleTimes, type FlightTimes } from './possible-times.ts'

const ODD_PRICES: readonly AnswerAnomaly[] = ['total_unlike_sum', 'zero_price']
/** No flight has more. The cap limits what we store of one flight. */
const MAX_SEGMENTS = 12
/** Time zones range from UTC-12 to UTC+14. */
const WIDEST_ZONES_S = 26 * 3600
/** The offsets of all time zones differ by multiples of this. */
const ZONE_STEP_S = 15 * 60

export interface FlightContext {
  /** The key of the flight in the answer. */
  readonly id: string
  readonly passengers: PassengerMix
  /** Makes a text of the upstream safe to store and show. */
  readonly show: (text: string) => string
}

/**
 * Reads the parts of a flight that we compare and show, and its anomalies.
 *
 * Identity and itinerary are strict: if one of their fields were missing once, it would be recorded as a change of
 * the flight. Throws UpstreamContractError for such a flight, and for one with impossible times.
 */
export function readFlight(
  value: unknown,
  { id, passengers, show }: FlightContext,
): { flight: ObservedFlight; anomalies: AnswerAnomaly[] } {
  const flight: JsonPath = { value, path: 'flight' }
  const segments = readSegments(flight)
  const whole = readTimes(flight)
  assertPossibleTimes(whole, segments)
  const { departsAt, arrivesAt } = whole
  const identity = identityOf(flight, segments.length, departsAt)
  const { price, anomalies } = readPrice(pathTo(flight, 'price').value, passengers)
  if ([whole, ...segments].some(contradictsDuration)) anomalies.push('duration_unlike_times')
  if (idText(pathTo(flight, 'id').value) !== id) anomalies.push('flight_id_unlike_key')
  anomalies.push(...typeAnomalies(value))
  const summary = {
    from: placeName(pathTo(flight, 'from'), show),
    to: placeName(pathTo(flight, 'to'), show),
    airline: airlineName(pathTo(flight, 'airline'), show),
    numbers: segments.map((segment) => segment.number),
    departsAt,
    arrivesAt,
    stops: segments.slice(1).map((segment) => placeName(segment.from, show)),
  }
  const itinerary = itineraryOf(whole, segments)
  const priceIsOdd = ODD_PRICES.some((odd) => anomalies.includes(odd))
  return {
    flight: { price, priceIsOdd, identity, itinerary, departsAt, flight: summary },
    anomalies,
  }
}

/** The interface calls it a leg of the flight. Our word *leg* means the outbound or the return flight. */
interface Segment extends FlightTimes {
  readonly number: number
  readonly from: JsonPath
  readonly fromId: string
  readonly toId: string
}

function readSegments(flight: JsonPath): Segment[] {
  const legs = pathTo(flight, 'legs')
  const { value } = legs
  if (!Array.isArray(value)) throw violation(legs, 'not a list')
  if (value.length === 0 || value.length > MAX_SEGMENTS) {
    throw violation(legs, `a list of ${value.length}, not of 1 to ${MAX_SEGMENTS}`)
  }
  return value.map((element: unknown, index) =>
    readSegment({ value: element, path: `legs[${index}]` }),
  )
}

function readSegment(segment: JsonPath): Segment {
  return {
    ...readTimes(segment),
    number: readFlightNumber(pathTo(segment, 'number')),
    from: pathTo(segment, 'from'),
    fromId: readId(pathTo(segment, 'from', 'id')),
    toId: readId(pathTo(segment, 'to', 'id')),
  }
}

function readTimes(part: JsonPath): FlightTimes {
  return {
    at: part,
    departsAt: readLocalTime(pathTo(part, 'dates', 'departure')),
    arrivesAt: readLocalTime(pathTo(part, 'dates', 'arrival')),
    duration: pathTo(part, 'duration').value,
  }
}

/** All parts are digits, so two different identities never have the same text. */
function identityOf(flight: JsonPath, segments: number, departsAt: string): string {
  const airline = readId(pathTo(flight, 'airline', 'id'))
  const from = readId(pathTo(flight, 'from', 'id'))
  const to = readId(pathTo(flight, 'to', 'id'))
  return `airline ${airline}, legs ${segments}, ${from} to ${to}, ${departsAt.slice(0, 10)}`
}

/** @example '2026-07-20 08:00 to 2026-07-20 09:15; 123: 101 2026-07-20 08:00 to 103 2026-07-20 09:15' */
function itineraryOf(whole: FlightTimes, segments: readonly Segment[]): string {
  const parts = segments.map(
    ({ number, fromId, departsAt, toId, arrivesAt }) =>
      `${number}: ${fromId} ${departsAt} to ${toId} ${arrivesAt}`,
  )
  return [`${whole.departsAt} to ${whole.arrivesAt}`, ...parts].join('; ')
}

/** The times are local to two places, so a difference that time zones explain is no contradiction. */
function contradictsDuration({ departsAt, arrivesAt, duration }: FlightTimes): boolean {
  const seconds = isFields(duration) ? duration.seconds : duration
  if (seconds === undefined || seconds === null) return false
  if (typeof seconds !== 'number') return true
  const offBy = (localMs(arrivesAt) - localMs(departsAt)) / 1000 - seconds
  return Math.abs(offBy) > WIDEST_ZONES_S || offBy % ZONE_STEP_S !== 0
}

function placeName({ value }: JsonPath, show: FlightContext['show']): string {
  return firstText(value, ['iata', 'city', 'id'], show)
}

function airlineName({ value }: JsonPath, show: FlightContext['show']): string {
  return firstText(value, ['name', 'twoLetterCode', 'id'], show)
}

/** The first of the fields that has a text to show. */
function firstText(value: unknown, names: readonly string[], show: FlightContext['show']): string {
  const fields = isFields(value) ? value : {}
  const texts = names.map((name) => {
    const text = fields[name]
    return typeof text === 'string' ? show(text) : (idText(text) ?? '')
  })
  return texts.find((text) => text !== '') ?? ''
}
