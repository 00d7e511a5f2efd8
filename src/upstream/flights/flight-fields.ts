import { UpstreamContractError } from '../upstream-errors.ts'

export const VERIFY_ENDPOINT = 'verify'

export type Fields = Readonly<Record<string, unknown>>

/** A value in an answer, with its place there for error messages, such as `flight.from.id`. */
export interface Spot {
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

/** The value behind some names. Throws UpstreamContractError where one of the values before it is no object. */
export function spotAt(spot: Spot, ...names: readonly string[]): Spot {
  return names.reduce(({ value, path }, name) => {
    if (!isFields(value)) throw breach({ value, path }, 'no object')
    return { value: value[name], path: `${path}.${name}` }
  }, spot)
}

/** An id as text, whether it came as a whole number or as its digits. Throws UpstreamContractError. */
export function readId(spot: Spot): string {
  const id = idText(spot.value)
  if (id === undefined) throw breach(spot, 'no whole number')
  return id
}

/** The same for ids that are only looked at; undefined where there is none. */
export function idText(value: unknown): string | undefined {
  if (typeof value === 'string') return DIGITS.test(value) ? value : undefined
  return typeof value === 'bigint' || Number.isInteger(value) ? String(value) : undefined
}

/** Throws UpstreamContractError. */
export function readFlightNumber(spot: Spot): number {
  const text = String(spot.value)
  if (!FLIGHT_NUMBER.test(text)) throw breach(spot, 'no flight number')
  return Number(text)
}

/** A local time that exists in the calendar, `YYYY-MM-DD HH:MM`. Throws UpstreamContractError. */
export function readLocalTime(spot: Spot): string {
  const { value } = spot
  if (typeof value !== 'string' || !LOCAL_TIME.test(value)) throw breach(spot, 'no local time')
  const { year, month, day, hour, minute } = partsOf(value)
  // Not by Date: the 30th of February is one, of another day.
  const exists =
    month >= 1 && month <= 12 && day >= 1 && day <= daysOf(year, month) && hour < 24 && minute < 60
  if (!exists) throw breach(spot, 'no time of the calendar')
  return value
}

/** Only for differences: between two places they are wrong by what lies between the zones. */
export function localMs(localTime: string): number {
  const { year, month, day, hour, minute } = partsOf(localTime)
  return Date.UTC(year, month - 1, day, hour, minute)
}

/** By the digits' places; thousands of times a second, slices would be felt. */
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

export function breach({ value, path }: Spot, what: string): UpstreamContractError {
  const where = value === undefined || value === null ? `${path} is missing` : `${path} is ${what}`
  return new UpstreamContractError({ endpoint: VERIFY_ENDPOINT, where })
}
