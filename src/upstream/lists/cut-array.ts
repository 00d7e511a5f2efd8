import { UpstreamContractError, UpstreamTooLargeError } from '../upstream-errors.ts'

export interface CutLimits {
  readonly endpoint: string
  /** A slice ends with the element that reaches this size. */
  readonly sliceBytes: number
  readonly maxElements: number
  /** Includes the whitespace around the element. It also limits the whitespace around the list. */
  readonly maxElementBytes: number
  /** The list itself has depth 1. */
  readonly maxDepth: number
}

/** Consecutive elements of the array, with the commas between them. */
export interface ArraySlice {
  /** Views into the body, in order. Nothing is copied. */
  readonly parts: readonly Uint8Array[]
  /** Position of the first element in the array. */
  readonly first: number
  /** The number of elements. An empty array is a slice with one element. */
  readonly elements: number
  /** Offsets in the body. */
  readonly fromByte: number
  readonly toByte: number
}

const CLOSING = 0x5d

const COMMON_STARTS: Record<string, string> = {
  '{': 'an object',
  '<': 'markup',
  n: 'null',
  '\u00ef': 'a byte order mark',
}

/**
 * Cuts the bytes of a JSON array into slices of whole elements, without joining or parsing them.
 *
 * If each slice parses as `[…]` and has the number of elements that it states, the whole body is one JSON array
 * surrounded only by whitespace. Throws UpstreamContractError and UpstreamTooLargeError.
 */
export function* cutArray(
  chunks: readonly Uint8Array[],
  limits: CutLimits,
): Generator<ArraySlice, void> {
  const cutter = new ArrayCutter(limits)
  for (const chunk of chunks) {
    // Small windows limit how long one call runs.
    for (let at = 0; at < chunk.length; at += limits.sliceBytes) {
      yield* cutter.feed(chunk.subarray(at, at + limits.sliceBytes))
    }
  }
  cutter.end()
}

class ArrayCutter {
  readonly #limits: CutLimits
  readonly #scanner = new JsonScanner()
  #phase: 'before' | 'inside' | 'after' = 'before'
  /** Offset of the window in the body. */
  #offset = 0
  #parts: Uint8Array[] = []
  #first = 0
  #fromByte = 0
  #element = 0
  #elementFrom = 0
  #endedAt = 0

  constructor(limits: CutLimits) {
    this.#limits = limits
  }

  *feed(window: Uint8Array): Generator<ArraySlice, void> {
    let at = 0
    if (this.#phase === 'before') at = this.#open(window)
    if (this.#phase === 'inside') at = yield* this.#cut(window, at)
    if (this.#phase === 'after') this.#assertBlank(window, at)
    this.#offset += window.length
  }

  end(): void {
    if (this.#phase === 'before') throw this.#violation('the body is empty')
    if (this.#phase === 'inside') {
      throw this.#violation(
        `the list ends early, in element ${this.#element}, byte ${this.#offset}`,
      )
    }
  }

  /** The index after the opening bracket, or the length if there is only whitespace. */
  #open(window: Uint8Array): number {
    const at = skipBlank(window, 0)
    this.#assertFits(this.#offset + at, 'the whitespace before the list')
    if (at === window.length) return at
    const fault = faultOfStart(window)
    if (fault) throw this.#violation(fault)
    this.#phase = 'inside'
    this.#fromByte = this.#elementFrom = this.#offset + at + 1
    return at + 1
  }

  /** The index after the closing bracket, or the length. */
  *#cut(window: Uint8Array, start: number): Generator<ArraySlice, number> {
    let from = start
    let at = start
    while (at < window.length) {
      const end = this.#scanner.next(window, at)
      this.#assertElement(this.#offset + end)
      if (end === window.length) break
      this.#element += 1
      this.#elementFrom = this.#offset + end + 1
      const { closed } = this.#scanner
      if (closed) this.#close(window, end)
      if (closed || this.#offset + end - this.#fromByte >= this.#limits.sliceBytes) {
        yield this.#take(window.subarray(from, end), this.#offset + end)
        from = end + 1
      }
      at = end + 1
      if (closed) return at
    }
    if (from < window.length) this.#parts.push(window.subarray(from))
    return window.length
  }

  #take(last: Uint8Array, toByte: number): ArraySlice {
    const slice = {
      parts: [...this.#parts, last],
      first: this.#first,
      elements: this.#element - this.#first,
      fromByte: this.#fromByte,
      toByte,
    }
    this.#parts = []
    this.#first = this.#element
    this.#fromByte = toByte + 1
    return slice
  }

  #close(window: Uint8Array, at: number): void {
    if (window[at] !== CLOSING) throw this.#violation('the list is closed by another bracket')
    this.#phase = 'after'
    this.#endedAt = this.#offset + at + 1
  }

  #assertBlank(window: Uint8Array, from: number): void {
    const at = skipBlank(window, from)
    if (at < window.length) {
      throw this.#violation(`the list is followed by other content at byte ${this.#offset + at}`)
    }
    this.#assertFits(this.#offset + at - this.#endedAt, 'the whitespace after the list')
  }

  #assertElement(end: number): void {
    const { maxElements, maxDepth, endpoint } = this.#limits
    if (this.#element >= maxElements) {
      throw new UpstreamTooLargeError({
        endpoint,
        what: `the list is over ${maxElements} elements`,
      })
    }
    this.#assertFits(end - this.#elementFrom, `element ${this.#element}`)
    if (this.#scanner.deepest > maxDepth) {
      throw this.#violation(`element ${this.#element} is nested deeper than ${maxDepth} levels`)
    }
  }

  #assertFits(bytes: number, what: string): void {
    const { endpoint, maxElementBytes } = this.#limits
    if (bytes <= maxElementBytes) return
    throw new UpstreamTooLargeError({ endpoint, what: `${what} is over ${maxElementBytes} bytes` })
  }

  #violation(where: string): UpstreamContractError {
    return new UpstreamContractError({ endpoint: this.#limits.endpoint, where })
  }
}

/** The fault of a body that does not begin with a list. Undefined for a list, or if there is only whitespace. */
export function faultOfStart(bytes: Uint8Array): string | undefined {
  const first = bytes[skipBlank(bytes, 0)]
  if (first === undefined) return undefined
  const char = String.fromCharCode(first)
  if (char === '[') return undefined
  return `the body begins with ${COMMON_STARTS[char] ?? 'another character'}, not with a list`
}

/** The index of the first byte at or after `from` that is not JSON whitespace, or the length. */
function skipBlank(bytes: Uint8Array, from: number): number {
  let at = from
  while (at < bytes.length && isBlank(bytes[at] as number)) at += 1
  return at
}

function isBlank(byte: number): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09
}

const QUOTE = 0x22
const BACKSLASH = 0x5c
const KIND = { other: 0, quote: 1, open: 2, close: 3, comma: 4 } as const

const kindOf = new Uint8Array(256)
kindOf[QUOTE] = KIND.quote
for (const char of '{[') kindOf[char.charCodeAt(0)] = KIND.open
for (const char of '}]') kindOf[char.charCodeAt(0)] = KIND.close
kindOf[','.charCodeAt(0)] = KIND.comma

/**
 * Finds where the elements of a JSON array end, in bytes that arrive in pieces. It starts after the `[`.
 *
 * It recognizes only strings and brackets, so the elements must still be parsed. Measured: 1 GB/s, compared with
 * 0.16 GB/s of JSON.parse.
 */
class JsonScanner {
  #depth = 1
  #deepest = 1
  #inString: boolean = false
  #escaped: boolean = false

  /** The deepest nesting so far. The array itself has depth 1. */
  get deepest(): number {
    return this.#deepest
  }

  /** Whether the array's closing bracket has been passed. */
  get closed(): boolean {
    return this.#depth === 0
  }

  /** The index of the next comma between elements or of the array's closing bracket, or the length. */
  next(bytes: Uint8Array, from: number): number {
    let at = this.#inString ? this.#skipString(bytes, from) : from
    let depth = this.#depth
    while (at < bytes.length) {
      const kind = kindOf[bytes[at] as number]
      if (kind === KIND.quote) {
        at = this.#skipString(bytes, at + 1)
        continue
      }
      if (kind === KIND.open) {
        depth += 1
        if (depth > this.#deepest) this.#deepest = depth
      } else if (kind === KIND.close) {
        depth -= 1
        if (depth === 0) break
      } else if (kind === KIND.comma && depth === 1) break
      at += 1
    }
    this.#depth = depth
    return at
  }

  /** The index after the string's closing quote, or the length if the string continues in the next piece. */
  #skipString(bytes: Uint8Array, from: number): number {
    let at = this.#escaped ? from + 1 : from
    while (at < bytes.length) {
      const byte = bytes[at]
      if (byte === QUOTE) {
        this.#inString = false
        this.#escaped = false
        return at + 1
      }
      at += byte === BACKSLASH ? 2 : 1
    }
    this.#inString = true
    // The last byte was a backslash. It escapes the first byte of the next piece.
    this.#escaped = at > bytes.length
    return bytes.length
  }
}
