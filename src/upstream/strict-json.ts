import { parseKeepingDigits } from './check-route.ts'
import { JsonScanner } from './json-scanner.ts'

export type JsonReading = { readonly value: unknown } | { readonly fault: string }

/**
 * Reads a whole body as one JSON value: UTF-8 without a byte order mark, not nested too deep, and no name twice
 * in one object. Digits of whole numbers beyond 2^53 are kept, as a bigint.
 *
 * A doubled name is refused because parsers take either value: of `{"available":true,"available":false}` nobody
 * can say what the upstream meant. Faults quote nothing of the body.
 */
export function readStrictJson(chunks: readonly Uint8Array[], maxDepth: number): JsonReading {
  const bytes = Buffer.concat(chunks)
  if (bytes.length === 0) return { fault: 'the body is empty' }
  if (depthOf(bytes) > maxDepth) {
    return { fault: `the body is nested deeper than ${maxDepth} levels` }
  }
  const text = decode(bytes)
  if (text === undefined) return { fault: 'the body is not UTF-8' }
  try {
    const value = parseKeepingDigits(text)
    if (namesInText(text) === namesIn(value)) return { value }
    return { fault: 'the body has a name twice in one object' }
  } catch {
    // The parser's own message quotes the body.
    return { fault: 'the body is not JSON' }
  }
}

function decode(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return undefined
  }
}

/** The scanner takes the body for the elements of an array, whose own level is not counted here. */
function depthOf(bytes: Uint8Array): number {
  const scanner = new JsonScanner()
  for (let at = 0; at < bytes.length && !scanner.closed; ) at = scanner.next(bytes, at) + 1
  return scanner.deepest - 1
}

/** In JSON every colon outside a string follows a name. */
function namesInText(json: string): number {
  let names = 0
  let at = 0
  while (at < json.length) {
    if (json[at] === '"') at = endOfString(json, at)
    else if (json[at] === ':') names += 1
    at += 1
  }
  return names
}

function endOfString(json: string, start: number): number {
  let at = start + 1
  while (at < json.length && json[at] !== '"') at += json[at] === '\\' ? 2 : 1
  return at
}

/** The names that the parser kept, in all objects of the value. */
function namesIn(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  const own = Array.isArray(value) ? 0 : Object.keys(value).length
  return Object.values(value).reduce((sum: number, part) => sum + namesIn(part), own)
}
