import { type Money, parseMoney, toCents } from '../../platform/base/money.ts'
import type {
  AnswerAnomaly,
  AnswerPlace,
  LegPrice,
  ObservedFlight,
  PassengerPrices,
  Site,
} from '../observation.ts'
import type { PassengerMix } from '../question.ts'
import {
  assertPossibleTimes,
  codeOf,
  contradictsDuration,
  contradictsZones,
  type FlightTimes,
  fieldsOf,
  idText,
  type JsonPath,
  latestDeparture,
  pathTo,
  readFlightNumber,
  readId,
  readLocalTime,
  typeAnomalies,
  violation,
} from './flight-fields.ts'

const ODD_PRICES: readonly AnswerAnomaly[] = ['total_unlike_sum', 'zero_price']
/** No flight has more. The cap limits what we store of one flight. */
const MAX_SEGMENTS = 12

interface FlightContext {
  /** The key of the flight in the answer. */
  readonly id: string
  readonly passengers: PassengerMix
  /** Makes a text of the upstream safe to store and show. */
  readonly show: (text: string) => string
  /** The same of an address, which is left whole; '' if it is too long. */
  readonly showUrl: (text: string) => string
}

/**
 * Reads the parts of a flight that we compare and show, and its anomalies.
 *
 * Identity and itinerary are strict: if one of their fields were missing once, it would be recorded as a change of
 * the flight. Throws UpstreamContractError for such a flight, and for one with impossible times.
 */
export function readFlight(
  value: unknown,
  { id, passengers, show, showUrl }: FlightContext,
): { flight: ObservedFlight; anomalies: AnswerAnomaly[] } {
  const flight: JsonPath = { value, path: 'flight' }
  const segments = readSegments(flight)
  const whole = readTimes(flight)
  assertPossibleTimes(whole, segments)
  const { departsAt, arrivesAt } = whole
  const identity = identityOf(flight, segments.length, departsAt)
  const { price, anomalies } = readPrice(pathTo(flight, 'price').value, passengers)
  const trips = [whole, ...segments]
  if (trips.some(contradictsDuration)) anomalies.push('duration_unlike_times')
  if (trips.some(contradictsZones)) anomalies.push('zone_unlike_table')
  if (idText(pathTo(flight, 'id').value) !== id) anomalies.push('flight_id_unlike_key')
  anomalies.push(...typeAnomalies(value))
  const departsBy = latestDeparture(whole)
  const [from, to] = [pathTo(flight, 'from'), pathTo(flight, 'to')]
  const stops = segments.slice(1).map((segment) => segment.from)
  const site = siteOf(pathTo(flight, 'site'), { show, showUrl })
  const summary = {
    from: placeName(from, show),
    to: placeName(to, show),
    ...airlineOf(pathTo(flight, 'airline'), show),
    numbers: segments.map((segment) => segment.number),
    departsAt,
    ...(departsBy === undefined ? {} : { departsBy }),
    arrivesAt,
    stops: stops.map((stop) => placeName(stop, show)),
    places: {
      from: placeOf(from, show),
      to: placeOf(to, show),
      stops: stops.map((stop) => placeOf(stop, show)),
    },
    ...(site === undefined ? {} : { site }),
  }
  const itinerary = itineraryOf(whole, segments)
  const priceIsOdd = ODD_PRICES.some((odd) => anomalies.includes(odd))
  const totalUnlikeSum = anomalies.includes('total_unlike_sum')
  return {
    flight: { price, priceIsOdd, totalUnlikeSum, identity, itinerary, departsAt, flight: summary },
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

/** Only a code is shown as three capital letters: by them the zone of the place is looked up. */
function placeName({ value }: JsonPath, show: FlightContext['show']): string {
  const code = codeOf(value)
  if (code !== undefined) return code
  const name = firstText(value, ['iata', 'city', 'id'], show)
  return /^[A-Z]{3}$/.test(name) ? firstText(value, ['id'], show) : name
}

function placeOf({ value }: JsonPath, show: FlightContext['show']): AnswerPlace {
  const text = (name: string) => firstText(value, [name], show) || null
  return { id: text('id'), city: text('city'), country: text('country') }
}

/** Undefined if the answer names no site. No decision depends on it, so nothing about it is an error. */
function siteOf(
  { value }: JsonPath,
  { show, showUrl }: Pick<FlightContext, 'show' | 'showUrl'>,
): Site | undefined {
  const site = {
    id: firstText(value, ['id'], show) || null,
    name: firstText(value, ['name'], show) || null,
    url: firstText(value, ['url'], showUrl) || null,
  }
  return Object.values(site).some((text) => text !== null) ? site : undefined
}

function airlineOf({ value }: JsonPath, show: FlightContext['show']) {
  const airlineCode = firstText(value, ['twoLetterCode'], show)
  const airline = firstText(value, ['name', 'twoLetterCode', 'id'], show)
  return airlineCode === '' ? { airline } : { airline, airlineCode }
}

/** The first of the fields that has a text to show. */
function firstText(value: unknown, names: readonly string[], show: FlightContext['show']): string {
  const fields = fieldsOf(value)
  const texts = names.map((name) => {
    const text = fields[name]
    return typeof text === 'string' ? show(text) : (idText(text) ?? '')
  })
  return texts.find((text) => text !== '') ?? ''
}

/** The possible rounding error of each passenger's price. */
const ROUNDING = 0.01
/** Far below a cent, and far above the error of adding a few doubles. */
const EPSILON = 1e-6

/**
 * The currencies of ISO 4217 that this runtime knows. The code XXX, which stands for no currency, is not among
 * them.
 */
const CURRENCIES = new Set(Intl.supportedValuesOf('currency'))

const GROUPS = ['residents', 'nonResidents'] as const
/** The names of the passenger types in a question and in a price. */
const TYPES = [
  ['adults', 'adult'],
  ['children', 'child'],
  ['infants', 'infant'],
] as const

/**
 * Reads the price of a flight: its total, or null if the total is unreadable or impossible, and the anomalies of the
 * rest. Impossible are an unknown currency, and a total of zero unless the price of every passenger is the number zero.
 *
 * The prices of passengers are numbers in the answer: floats suffice to compare their sum with the total, and each is
 * kept as text of two decimals.
 */
function readPrice(
  price: unknown,
  mix: PassengerMix,
): { price: LegPrice | null; anomalies: AnswerAnomaly[] } {
  const fields = fieldsOf(price)
  const categories = categoriesOf(fields, mix)
  const total = possibleTotal(parseMoney(fields.total, fields.currency), categories)
  const anomalies: AnswerAnomaly[] = total === null ? ['price_unreadable'] : []
  if (categories.some(({ count, each = 0 }) => count === 0 && each !== 0)) {
    anomalies.push('categories_unlike_request')
  }
  // The interface leaves out the price of a category that is not priced: then the parts do not add up to the total.
  const areAllPriced = categories.every(({ count, each }) => count === 0 || each !== undefined)
  if (total !== null && areAllPriced && !addsUp(total, categories))
    anomalies.push('total_unlike_sum')
  if (total === null) return { price: null, anomalies }
  if (toCents(total.amount) === 0n) anomalies.push('zero_price')
  const residents = passengerPrices(fields.residents)
  const nonResidents = passengerPrices(fields.nonResidents)
  return { price: { ...total, residents, nonResidents }, anomalies }
}

/** A larger one is no price. */
const MOST_EACH = 1e12

function passengerPrices(group: unknown): PassengerPrices {
  const prices = fieldsOf(group)
  const text = (type: (typeof TYPES)[number][1]) => {
    const each = amountOf(prices[type])
    return each === undefined || each < 0 || each >= MOST_EACH ? null : each.toFixed(2)
  }
  return { adult: text('adult'), child: text('child'), infant: text('infant') }
}

interface Category {
  readonly count: number
  /** Price for each passenger. Undefined if there is none. */
  readonly each: number | undefined
}

function categoriesOf(price: Readonly<Record<string, unknown>>, mix: PassengerMix): Category[] {
  return GROUPS.flatMap((group) => {
    const prices = fieldsOf(price[group])
    return TYPES.map(([counted, priced]) => ({
      count: mix[group][counted],
      each: amountOf(prices[priced]),
    }))
  })
}

function possibleTotal(total: Money | null, categories: readonly Category[]): Money | null {
  if (total === null || !CURRENCIES.has(total.currency)) return null
  const isFree = categories.every(({ count, each }) => count === 0 || each === 0)
  return toCents(total.amount) > 0n || isFree ? total : null
}

function amountOf(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined
}

function addsUp(total: Money, categories: readonly Category[]): boolean {
  const passengers = categories.reduce((sum, { count }) => sum + count, 0)
  const expected = categories.reduce((sum, { count, each = 0 }) => sum + count * each, 0)
  return Math.abs(expected - Number(total.amount)) <= passengers * ROUNDING + EPSILON
}
