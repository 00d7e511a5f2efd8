import { MAX_FLIGHT_ID_CHARS } from '../../upstream/passenger-rules.ts'

const MAX_NAME_CHARS = 200

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is refused
const CONTROL = /[\u0000-\u001f\u007f-\u009f]/

/** Clients take them out of an address, percent-encoded too, before it is sent. */
const STEPS = new Set(['.', '..'])

/**
 * What is wrong with a name: of a reseller, a watch list, a watch. Undefined where nothing is.
 *
 * Names are kept as they are written, to the last character, and never cleaned in silence: two that differ stay
 * two. What nobody could see or type is refused instead.
 */
export function nameFault(text: string): string | undefined {
  if (text !== text.trim()) return 'must not begin or end with white space'
  if (STEPS.has(text)) return 'must not be "." or "..", which no address can end in'
  return textFault(text, MAX_NAME_CHARS)
}

/** What is wrong with a flight id, white space around it aside. */
export function flightIdFault(text: string): string | undefined {
  return textFault(text.trim(), MAX_FLIGHT_ID_CHARS)
}

function textFault(text: string, maxChars: number): string | undefined {
  if (text === '') return 'must not be empty'
  if (text.includes('\0')) return 'must not hold a NUL character'
  if (!text.isWellFormed()) return 'must not hold half of a surrogate pair'
  if (CONTROL.test(text)) return 'must not hold control characters'
  if (text.length > maxChars) return `must not be longer than ${maxChars} characters`
  return undefined
}
