import { isIP } from 'node:net'
import { InvalidArgumentError, Option } from 'commander'

function boundedOption(what: string, form: RegExp) {
  return (min: number, max: number) => (text: string) => {
    const value = Number(text)
    if (!form.test(text) || value < min || value > max) {
      throw new InvalidArgumentError(`It must be a ${what} from ${min} to ${max}.`)
    }
    return value
  }
}

/** Reads a whole number within bounds. The parsers of this file throw InvalidArgumentError. */
export const integerOption = boundedOption('whole number', /^-?\d{1,15}$/)

/** How many items a command lists. */
export function limitOption(items: string, max = 10_000): Option {
  return new Option('--limit <n>', `list at most n ${items}`)
    .argParser(integerOption(1, max))
    .default(20)
}

/** Reads a number within bounds. */
export const numberOption = boundedOption('number', /^\d{1,12}(\.\d{1,6})?$/)

const UNIT_SECONDS = { s: 1, m: 60, h: 3_600, d: 86_400 } as const

/** Reads a length of time within bounds, in seconds. */
export function durationOption(min: number, max: number): (text: string) => number {
  return (text) => {
    const [, digits = '', unit = ''] = /^(\d{1,9}(?:\.\d{1,3})?)([smhd])$/.exec(text) ?? []
    const seconds = Number(digits) * (UNIT_SECONDS[unit as keyof typeof UNIT_SECONDS] ?? Number.NaN)
    if (!(seconds >= min && seconds <= max)) {
      throw new InvalidArgumentError(
        `It must be a number with its unit (s, m, h or d), such as 90s or 5m, from ${lengthText(min)} to ${lengthText(max)}.`,
      )
    }
    return seconds
  }
}

/** @example lengthText(7_200) // '2h' */
function lengthText(seconds: number): string {
  const units = Object.entries(UNIT_SECONDS).toReversed()
  const [unit, size] = units.find(([, size]) => seconds % size === 0) ?? ['s', 1]
  return `${seconds / size}${unit}`
}

/** A pair of IATA codes, in one direction or in either; undefined if the text is none. */
export function pairOf(text: string) {
  const [, departure, sign, destination] = /^([A-Z0-9]{3})([-=])([A-Z0-9]{3})$/.exec(text) ?? []
  if (departure === undefined || destination === undefined) return undefined
  return { departure, destination, ...(sign === '=' && { eitherDirection: true }) }
}

/** Reads an IP address. */
export function addressOption(text: string): string {
  if (isIP(text) === 0) throw new InvalidArgumentError('It must be an IP address.')
  return text
}

const ISO_INSTANT = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d{1,6})?)?(Z|[+-]\d{2}:\d{2}))?$/

/** Reads an instant with its time zone, or a date, which means its midnight in UTC. */
export function instantOption(text: string): Date {
  return readInstant(text, 'a date such as 2026-01-31')
}

function readInstant(text: string, orElse: string): Date {
  const instant = new Date(text)
  if (!ISO_INSTANT.test(text) || Number.isNaN(instant.getTime()) || !isDay(text.slice(0, 10))) {
    throw new InvalidArgumentError(
      `It must be an instant such as 2026-01-31T12:00:00Z, or ${orElse}.`,
    )
  }
  return instant
}

/** Reads an instant, or a length of time from now such as 2h. */
export function laterOption(text: string): Date {
  if (!/^[\d.]+[smhd]$/.test(text)) return readInstant(text, 'a time from now such as 2h')
  return new Date(Date.now() + 1_000 * durationOption(1, 366 * 86_400)(text))
}

/** Reads a date: its midnight in UTC. */
export function dateOption(text: string): Date {
  const instant = new Date(text)
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text) || Number.isNaN(instant.getTime()) || !isDay(text)) {
    throw new InvalidArgumentError('It must be a date such as 2026-01-31.')
  }
  return instant
}

/** As dateOption, as text. */
export function dayOption(text: string): string {
  return dateOption(text).toISOString().slice(0, 10)
}

/** False for a day such as February 30, which Date reads as March 2. */
function isDay(text: string): boolean {
  return new Date(text).toISOString().startsWith(text)
}
