import { zoneOf } from '../../platform/airports/airports.ts'
import { instantOfLocal, zoneOffsetMs } from '../../platform/base/local-time.ts'
import type { AnswerAnomaly } from '../observation.ts'
import { UpstreamContractError, VERIFY_ENDPOINT } from '../upstream-errors.ts'

export type Fields = Readonly<Record<string, unknown>>

/** A value in an answer, with its path for error messages, such as `flight.from.id`. */
export interface JsonPath {
  readonly value: unknown
  readonly path: string
}

const DIGITS = /^\d{1,40}$/
const FLIGHT_NUMBER = /^\d{1,9}$/
const ZERO = '0'.charCodeAt(0)
const LOCAL_TIME = /^[12]\d{3}-\d{2}-\d{2} \d{2}:\d{2}$/

export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

const NO_FIELDS: Fields = {}

/** The fields of a value; none if it is not an object. */
export function fieldsOf(value: unknown): Fields {
  return isFields(value) ? value : NO_FIELDS
}

/** The value below `from` with these names. Throws UpstreamContractError if a value on the way is not an object. */
export function pathTo(from: JsonPath, ...names: readonly string[]): JsonPath {
  return names.reduce(({ value, path }, name) => {
    if (!isFields(value)) throw violation({ value, path }, 'not an object')
    return { value: value[name], path: `${path}.${name}` }
  }, from)
}

/** An id as text. The answer may have it as a whole number or as text of digits. Throws UpstreamContractError. */
export function readId(at: JsonPath): string {
  const id = idText(at.value)
  if (id === undefined) throw violation(at, 'not a whole number')
  return id
}

/** The same without an error: undefined if the value is not an id. */
export function idText(value: unknown): string | undefined {
  if (typeof value === 'string') return DIGITS.test(value) ? value : undefined
  return typeof value === 'bigint' || Number.isInteger(value) ? String(value) : undefined
}

/** Throws UpstreamContractError. */
export function readFlightNumber(at: JsonPath): number {
  const text = String(at.value)
  if (!FLIGHT_NUMBER.test(text)) throw violation(at, 'not a flight number')
  return Number(text)
}

/** A local time that exists in the calendar, `YYYY-MM-DD HH:MM`. Throws UpstreamContractError. */
export function readLocalTime(at: JsonPath): string {
  const { value } = at
  if (typeof value !== 'string' || !LOCAL_TIME.test(value)) throw violation(at, 'not a local time')
  const { year, month, day, hour, minute } = partsOf(value)
  // Date cannot check this: it reads the 30th of February as another day.
  const exists =
    month >= 1 && month <= 12 && day >= 1 && day <= daysOf(year, month) && hour < 24 && minute < 60
  if (!exists) throw violation(at, 'not a time of the calendar')
  return value
}

/** Only for differences. Between two places they are wrong by the difference of the time zones. */
export function localMs(localTime: string): number {
  const { year, month, day, hour, minute } = partsOf(localTime)
  return Date.UTC(year, month - 1, day, hour, minute)
}

/** Reads the digits by position. This runs thousands of times a second, and slices would be measurably slower. */
function partsOf(localTime: string) {
  const two = (at: number) =>
    (localTime.charCodeAt(at) - ZERO) * 10 + localTime.charCodeAt(at + 1) - ZERO
  return {
    year: two(0) * 100 + two(2),
    month: two(5),
    day: two(8),
    hour: two(11),
    minute: two(14),
  }
}

function daysOf(year: number, month: number): number {
  if (month === 2) return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31
}

export function violation({ value, path }: JsonPath, what: string): UpstreamContractError {
  const where = value === undefined || value === null ? `${path} is missing` : `${path} is ${what}`
  return new UpstreamContractError({ endpoint: VERIFY_ENDPOINT, where })
}

const HOUR_MS = 3_600_000
/** Time zones range from UTC-12 to UTC+14. */
const WIDEST_ZONES_MS = 26 * HOUR_MS
/** The clocks of UTC−12 are the last to show a local time. */
const LATEST_ZONE_MS = 12 * HOUR_MS
/** The offsets of all time zones differ by multiples of this. */
const ZONE_STEP_MS = HOUR_MS / 4
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
 * to 5 days; and a segment that lies more than 26 h outside the flight. Our table of zones rejects nothing: it may be
 * wrong itself.
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
  const seconds = secondsOf(duration)
  const isPossible =
    typeof seconds === 'number'
      ? Math.abs(local - seconds * 1_000) <= WIDEST_ZONES_MS
      : local >= -WIDEST_ZONES_MS && local <= LONGEST_TRIP_MS
  if (!isPossible) throw violation(at, 'between times that no time zones explain')
}

/** The times are local to two places, so a difference that time zones explain is no contradiction. */
export function contradictsDuration({ departsAt, arrivesAt, duration }: FlightTimes): boolean {
  const seconds = secondsOf(duration)
  if (seconds === undefined || seconds === null) return false
  if (typeof seconds !== 'number') return true
  const offBy = localMs(arrivesAt) - localMs(departsAt) - seconds * 1_000
  return Math.abs(offBy) > WIDEST_ZONES_MS || offBy % ZONE_STEP_MS !== 0
}

function secondsOf(duration: unknown): unknown {
  return isFields(duration) ? duration.seconds : duration
}

/** The zones of the departure and of the arrival by our table; undefined unless both are known. */
function zonesOf({ at }: FlightTimes): { readonly from: string; readonly to: string } | undefined {
  const { from, to } = fieldsOf(at.value)
  const [departure, arrival] = [codeOf(from), codeOf(to)].map((code) => zoneOf(code ?? ''))
  return departure && arrival ? { from: departure, to: arrival } : undefined
}

/** The airport code of a place, by its field `iata` alone; undefined without one. */
export function codeOf(place: unknown): string | undefined {
  const { iata } = fieldsOf(place)
  return typeof iata === 'string' && CODE.test(iata) ? iata.toUpperCase() : undefined
}

const CODE = /^[A-Za-z]{3}$/

/**
 * Whether the zones of our table contradict the answer: they make another duration of its times, by what other zones
 * would explain, or an arrival before the departure. Public tables have wrong zones, so the answer counts.
 */
export function contradictsZones(trip: FlightTimes): boolean {
  const elapsed = elapsedMs(trip)
  if (elapsed.length === 0) return false
  if (elapsed.every((ms) => ms < 0 || ms > LONGEST_TRIP_MS)) return true
  const seconds = secondsOf(trip.duration)
  if (typeof seconds !== 'number') return false
  return elapsed.every((ms) => {
    const offBy = ms - seconds * 1_000
    return offBy !== 0 && offBy % ZONE_STEP_MS === 0
  })
}

/**
 * How long the trip takes by our zones: several possible times, because a local time may stand for two instants when
 * clocks change. Empty if a zone is unknown.
 */
function elapsedMs(trip: FlightTimes): number[] {
  const zones = zonesOf(trip)
  if (zones === undefined) return []
  const [departs, arrives] = [localMs(trip.departsAt), localMs(trip.arrivesAt)]
  return offsetsAround(zones.from, departs).flatMap((before) =>
    offsetsAround(zones.to, arrives).map((after) => arrives - after - (departs - before)),
  )
}

function offsetsAround(zone: string, local: number): number[] {
  return [zoneOffsetMs(zone, local - DAY_MS), zoneOffsetMs(zone, local + DAY_MS)]
}

/**
 * The latest departure of a trip that contradicts our zones, as an ISO instant: by the zone of its departure, or by that
 * of its arrival and its own duration, as either zone may be the wrong one. Undefined without a contradiction.
 */
export function latestDeparture(trip: FlightTimes): string | undefined {
  const zones = zonesOf(trip)
  if (zones === undefined || !contradictsZones(trip)) return undefined
  const [departs, arrives] = [localMs(trip.departsAt), localMs(trip.arrivesAt)]
  const seconds = secondsOf(trip.duration)
  const latest = departs + LATEST_ZONE_MS
  const ofArrival =
    typeof seconds === 'number' ? instantOfLocal(zones.to, arrives) - seconds * 1_000 : latest
  const departure = Math.max(instantOfLocal(zones.from, departs), ofArrival)
  return new Date(Math.min(latest, departure)).toISOString()
}

const PLACE_TEXTS = ['iata', 'city', 'country'] as const
const AIRLINE_TEXTS = ['name', 'twoLetterCode'] as const

/** Types of a flight that differ from the interface: ids as text, and names that are missing or not text. */
export function typeAnomalies(value: unknown): AnswerAnomaly[] {
  const flight = fieldsOf(value)
  const legs: readonly unknown[] = Array.isArray(flight.legs) ? flight.legs : []
  const parts = [flight, ...legs.map(fieldsOf)]
  const textId =
    typeof flight.id === 'string' ||
    parts.some(
      ({ number, from, to, airline }) =>
        typeof number === 'string' || [from, to, airline].some(hasTextId),
    )
  const anomalies: AnswerAnomaly[] = textId ? ['text_ids'] : []
  if (parts.some(hasBlankText)) anomalies.push('blank_texts')
  return anomalies
}

function hasTextId(value: unknown): boolean {
  return typeof fieldsOf(value).id === 'string'
}

function hasBlankText({ from, to, airline }: Fields): boolean {
  const blankIn = (value: unknown, names: readonly string[]) => {
    const fields = fieldsOf(value)
    return names.some((name) => typeof fields[name] !== 'string')
  }
  return blankIn(from, PLACE_TEXTS) || blankIn(to, PLACE_TEXTS) || blankIn(airline, AIRLINE_TEXTS)
}

/** The names of an object's fields, and below each name the fields of its value. Empty for a plain value. */
interface Shape {
  readonly [name: string]: Shape
}

const PLAIN: Shape = {}
const PLACE: Shape = { id: PLAIN, iata: PLAIN, city: PLAIN, country: PLAIN }
const DATES: Shape = { departure: PLAIN, arrival: PLAIN }
const DURATION: Shape = { human: PLAIN, seconds: PLAIN }
const AIRLINE: Shape = { id: PLAIN, name: PLAIN, twoLetterCode: PLAIN }
const SITE: Shape = { id: PLAIN, name: PLAIN, url: PLAIN, logo: PLAIN }
const PRICES: Shape = { adult: PLAIN, child: PLAIN, infant: PLAIN }
const PRICE: Shape = { currency: PLAIN, total: PLAIN, residents: PRICES, nonResidents: PRICES }
const TRAVEL: Shape = { from: PLACE, to: PLACE, dates: DATES, duration: DURATION, airline: AIRLINE }
const SEGMENT: Shape = { ...TRAVEL, number: PLAIN }
const FLIGHT: Shape = { ...TRAVEL, legs: SEGMENT, site: SITE, id: PLAIN, price: PRICE }
const ENTRY: Shape = { available: PLAIN, flight: FLIGHT }

/** Whether the entry of one flight in a verify answer has a field that the interface does not name. */
export function hasUnknownFields(entry: unknown, shape: Shape = ENTRY): boolean {
  if (Array.isArray(entry)) return entry.some((element) => hasUnknownFields(element, shape))
  if (!isFields(entry)) return false
  for (const name in entry) {
    const inner = Object.hasOwn(shape, name) ? shape[name] : undefined
    if (inner === undefined || hasUnknownFields(entry[name], inner)) return true
  }
  return false
}
