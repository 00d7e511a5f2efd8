import { isUtf8 } from 'node:buffer'

/** The fault of a body that is valid JSON but has a name twice in one object. */
export const DUPLICATE_NAMES = 'the body has a name twice in one object'

type JsonReading = { readonly value: unknown } | { readonly fault: string }

/**
 * Reads a whole body as one JSON value: UTF-8 without a byte order mark, limited nesting, and no name twice in one
 * object. Whole numbers beyond 2^53 keep their digits and become bigints.
 *
 * Duplicate names are refused because parsers disagree on which value counts: the meaning of
 * `{"available":true,"available":false}` is undefined. Faults quote nothing of the body.
 */
export function readStrictJson(chunks: readonly Uint8Array[], maxDepth: number): JsonReading {
  const bytes = chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks)
  if (bytes.length === 0) return { fault: 'the body is empty' }
  if (!isUtf8(bytes)) return { fault: 'the body is not UTF-8' }
  const text = UTF8.decode(bytes)
  const { names, depth } = survey(text)
  if (depth > maxDepth) return { fault: `the body is nested deeper than ${maxDepth} levels` }
  try {
    const value = parseKeepingDigits(text)
    if (names === countNames(value)) return { value }
    return { fault: DUPLICATE_NAMES }
  } catch {
    // The parser's own message quotes the body.
    return { fault: 'the body is not JSON' }
  }
}

/**
 * JSON.parse that keeps every digit of whole numbers beyond 2^53, as bigints. It is several times slower than
 * JSON.parse if the text may hold such a number. A number without its digits in the text (1e17) becomes NaN, which no
 * check accepts.
 */
export function parseKeepingDigits(json: string): unknown {
  return MAY_LOSE_DIGITS.test(json) ? JSON.parse(json, exactNumber) : JSON.parse(json)
}

/** Whole numbers beyond 2^53 have at least sixteen digits, or an exponent. */
const MAY_LOSE_DIGITS = /\d{16}|\d[eE]/
/** No valid id is longer. A longer number becomes NaN. */
const MAX_DIGITS = 200

/** `context.source` is the number's text in the JSON. TypeScript's library does not declare it yet. */
function exactNumber(...[, value, context]: [string, unknown, { source: string }?]): unknown {
  if (typeof value !== 'number' || Number.isSafeInteger(value)) return value
  if (!Number.isInteger(value)) return value
  const digits = context?.source ?? ''
  return digits.length <= MAX_DIGITS && /^\d+$/.test(digits) ? BigInt(digits) : Number.NaN
}

/** One shared decoder: to create one costs as much as to decode a flight. */
const UTF8 = new TextDecoder('utf-8', { ignoreBOM: true })

const [QUOTE, BACKSLASH, COLON, OPEN_LIST, OPEN_OBJECT, CLOSE_LIST, CLOSE_OBJECT] = Array.from(
  '"\\:[{]}',
  (char) => char.charCodeAt(0),
)

/** The nesting of a text, and how many names it has if it is JSON: each colon outside a string follows a name. */
function survey(text: string): { names: number; depth: number } {
  let names = 0
  let depth = 0
  let deepest = 0
  for (let at = 0; at < text.length; at++) {
    const char = text.charCodeAt(at)
    if (char === QUOTE) at = endOfString(text, at)
    else if (char === COLON) names += 1
    else if (char === OPEN_OBJECT || char === OPEN_LIST) {
      depth += 1
      if (depth > deepest) deepest = depth
    } else if (char === CLOSE_OBJECT || char === CLOSE_LIST) depth -= 1
  }
  return { names, depth: deepest }
}

function endOfString(text: string, start: number): number {
  let at = start + 1
  for (; at < text.length; at++) {
    const char = text.charCodeAt(at)
    if (char === QUOTE) return at
    if (char === BACKSLASH) at += 1
  }
  return at
}

/** How many names the parser kept, in all objects of the value. */
function countNames(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  if (Array.isArray(value)) return value.reduce((sum: number, part) => sum + countNames(part), 0)
  let names = 0
  // The objects of JSON.parse have no inherited enumerable names.
  for (const name in value) names += 1 + countNames((value as Record<string, unknown>)[name])
  return names
}
