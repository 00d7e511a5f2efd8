import { isIP } from 'node:net'
import { InvalidArgumentError } from 'commander'

/** Reads a whole number within bounds. The parsers of this file throw InvalidArgumentError. */
export function integerOption(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = Number(text)
    if (!/^-?\d{1,15}$/.test(text) || value < min || value > max) {
      throw new InvalidArgumentError(`It must be a whole number from ${min} to ${max}.`)
    }
    return value
  }
}

/** Reads a number within bounds. */
export function numberOption(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = Number(text)
    if (!/^\d{1,12}(\.\d{1,6})?$/.test(text) || value < min || value > max) {
      throw new InvalidArgumentError(`It must be a number from ${min} to ${max}.`)
    }
    return value
  }
}

const UUID = /^[\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{12}$/i

/** Reads an id that a list prints. */
export function uuidOption(text: string): string {
  if (!UUID.test(text)) throw new InvalidArgumentError('It must be an id as a list prints it.')
  return text
}

/** Reads an IP address. */
export function addressOption(text: string): string {
  if (isIP(text) === 0) throw new InvalidArgumentError('It must be an IP address.')
  return text
}

const ISO_INSTANT = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d{1,6})?)?(Z|[+-]\d{2}:\d{2}))?$/

/** Reads an instant with its time zone, or a date, which means its midnight in UTC. */
export function instantOption(text: string): Date {
  const instant = new Date(text)
  if (!ISO_INSTANT.test(text) || Number.isNaN(instant.getTime()) || !isDay(text.slice(0, 10))) {
    throw new InvalidArgumentError(
      'It must be an instant such as 2026-01-31T12:00:00Z, or a date such as 2026-01-31.',
    )
  }
  return instant
}

/** False for a day such as February 30, which Date reads as March 2. */
function isDay(text: string): boolean {
  return new Date(text).toISOString().startsWith(text)
}
