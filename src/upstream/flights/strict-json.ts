import { parseKeepingDigits } from '../lists/check-route.ts'

/** The one fault that is JSON all the same, and counted by itself. */
export const DOUBLED_NAMES = 'the body has a name twice in one object'

export type JsonReading = { readonly value: unknown } | { readonly fault: string }

/**
 * Reads a whole body as one JSON value: UTF-8 without a byte order mark, not nested too deep, and no name twice
 * in one object. Digits of whole numbers beyond 2^53 are kept, as a bigint.
 *
 * A doubled name is refused because parsers take either value: of `{"available":true,"available":false}` nobody
 * can say what the upstream meant. Faults quote nothing of the body.
 */
export function readStrictJson(chunks: readonly Uint8Array[], maxDepth: number): JsonReading {
  const bytes = chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks)
  if (bytes.length === 0) return { fault: 'the body is empty' }
  const text = decode(bytes)
  if (text === undefined) return { fault: 'the body is not UTF-8' }
  const { names, depth } = survey(text)
  if (depth > maxDepth) return { fault: `the body is nested deeper than ${maxDepth} levels` }
  try {
    const value = parseKeepingDigits(text)
    if (names === namesIn(value)) return { value }
    return { fault: DOUBLED_NAMES }
  } catch {
    // The parser's own message quotes the body.
    return { fault: 'the body is not JSON' }
  }
}

/** One decoder for all: making one costs as much as decoding a flight. */
const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

function decode(bytes: Uint8Array): string | undefined {
  try {
    return UTF8.decode(bytes)
  } catch {
    return undefined
  }
}

const [QUOTE, BACKSLASH, COLON, OPEN_LIST, OPEN_OBJECT, CLOSE_LIST, CLOSE_OBJECT] = Array.from(
  '"\\:[{]}',
  (char) => char.charCodeAt(0),
)

/** How many names a text has, if it is JSON: every colon outside a string follows one. And how deep it nests. */
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

/** The names that the parser kept, in all objects of the value. */
function namesIn(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  if (Array.isArray(value)) return value.reduce((sum: number, part) => sum + namesIn(part), 0)
  let names = 0
  // What JSON.parse makes has no inherited names that `in` would show.
  for (const name in value) names += 1 + namesIn((value as Record<string, unknown>)[name])
  return names
}
