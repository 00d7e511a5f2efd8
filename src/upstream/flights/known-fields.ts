import { isFields } from './flight-fields.ts'

/** The names of an object's fields; behind each those of its own, none for a plain value. */
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
const HOP: Shape = {
  from: PLACE,
  to: PLACE,
  number: PLAIN,
  dates: DATES,
  duration: DURATION,
  airline: AIRLINE,
}
const FLIGHT: Shape = {
  from: PLACE,
  to: PLACE,
  legs: HOP,
  dates: DATES,
  duration: DURATION,
  airline: AIRLINE,
  site: SITE,
  id: PLAIN,
  price: PRICE,
}
const ENTRY: Shape = { available: PLAIN, flight: FLIGHT }

/** Whether one flight's entry of a verify answer holds a field that the interface does not name. */
export function hasUnknownFields(entry: unknown, shape: Shape = ENTRY): boolean {
  if (Array.isArray(entry)) return entry.some((element) => hasUnknownFields(element, shape))
  if (!isFields(entry)) return false
  for (const name in entry) {
    const inner = Object.hasOwn(shape, name) ? shape[name] : undefined
    if (inner === undefined || hasUnknownFields(entry[name], inner)) return true
  }
  return false
}
