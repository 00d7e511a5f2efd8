import type { AnswerAnomaly } from '../observation.ts'
import { type Fields, isFields } from './flight-fields.ts'

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

const NO_FIELDS: Fields = {}

function fieldsOf(value: unknown): Fields {
  return isFields(value) ? value : NO_FIELDS
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
