import type { TSchema } from 'typebox'

/** How many values a body holds, how deep they lie, and how many names an object has. */
export interface JsonSize {
  readonly values: number
  readonly depth: number
  readonly names: number
}

/** Of a list whose schema gives no length. */
const LIST_ITEMS = 1_000

interface Shape {
  readonly properties?: Readonly<Record<string, Shape>>
  readonly items?: Shape
  readonly maxItems?: number
  readonly anyOf?: readonly Shape[]
}

/** A small body that is wrong gets the error of the schema, which says what is wrong. */
const SMALL: JsonSize = { values: 1_000, depth: 20, names: 100 }

/** The largest body that a schema allows, since it allows no other names; not less than a small one. */
export function sizeOfSchema(schema: TSchema): JsonSize {
  return largest([SMALL, sizeOf(schema as Shape)])
}

function largest(sizes: readonly JsonSize[]): JsonSize {
  const most = (of: keyof JsonSize) => Math.max(0, ...sizes.map((size) => size[of]))
  return { values: most('values'), depth: most('depth'), names: most('names') }
}

function sizeOf({ properties = {}, items, maxItems = LIST_ITEMS, anyOf }: Shape): JsonSize {
  if (anyOf !== undefined) return largest(anyOf.map(sizeOf))
  const members = Object.values(properties).map(sizeOf)
  const inner = items === undefined ? members : [...members, sizeOf(items)]
  const { depth, names } = largest(inner)
  const ofItems = items === undefined ? 0 : maxItems * (inner.at(-1)?.values ?? 0)
  return {
    values: 1 + members.reduce((sum, { values }) => sum + values, 0) + ofItems,
    depth: 1 + depth,
    names: Math.max(names, members.length),
  }
}

const QUOTE = 0x22
const COMMA = 0x2c
const OPEN_LIST = 0x5b
const BACKSLASH = 0x5c
const CLOSE_LIST = 0x5d
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d

/**
 * Creates the check of one text of JSON that arrives in pieces: whether it holds more than allowed so far. It reads the
 * bytes and makes nothing of them: a parsed value takes up to sixty times the bytes of its text. Reading ends at the
 * first excess. What is no JSON at all may pass.
 */
export function jsonMeter({ values, depth, names }: JsonSize): (piece: Uint8Array) => boolean {
  /** The names of the open object at each level; of a list none are counted. */
  const namesAt = new Array<number>(depth + 2).fill(Number.NEGATIVE_INFINITY)
  let count = 1
  let level = 1
  let inString = false
  /** Whether the last byte of the piece before was a backslash. It escapes the first byte of this one. */
  let escaped = false
  return (piece) => {
    const from = escaped ? 1 : 0
    escaped = false
    for (let i = from; i < piece.length; i += 1) {
      const byte = piece[i]
      if (inString || byte === QUOTE) {
        if (!inString) i += 1
        while (i < piece.length && piece[i] !== QUOTE) i += piece[i] === BACKSLASH ? 2 : 1
        inString = i >= piece.length
        escaped = i > piece.length
      } else if (byte === OPEN_LIST || byte === OPEN_OBJECT) {
        count += 1
        level += 1
        if (count > values || level > depth) return true
        namesAt[level] = byte === OPEN_OBJECT ? 1 : Number.NEGATIVE_INFINITY
      } else if (byte === COMMA) {
        count += 1
        const found = (namesAt[level] ?? 0) + 1
        namesAt[level] = found
        if (count > values || found > names) return true
      } else if (byte === CLOSE_LIST || byte === CLOSE_OBJECT) level -= 1
    }
    return false
  }
}
