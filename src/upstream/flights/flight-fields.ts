import { UpstreamContractError } from '../upstream-errors.ts'

export const VERIFY_ENDPOINT = 'verify'

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
