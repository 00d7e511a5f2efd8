import type { TSchema } from 'typebox'

/** How many values a body holds, and how deep they lie. */
export interface JsonSize {
  readonly values: number
  readonly depth: number
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
const SMALL: JsonSize = { values: 1_000, depth: 20 }

/** The largest body that a schema allows, since it allows no other names; not less than a small one. */
export function sizeOfSchema(schema: TSchema): JsonSize {
  const { values, depth } = sizeOf(schema as Shape)
  return { values: Math.max(values, SMALL.values), depth: Math.max(depth, SMALL.depth) }
}

function sizeOf({ properties, items, maxItems = LIST_ITEMS, anyOf }: Shape): JsonSize {
  if (anyOf !== undefined) {
    const choices = anyOf.map(sizeOf)
    return {
      values: Math.max(...choices.map(({ values }) => values)),
      depth: Math.max(...choices.map(({ depth }) => depth)),
    }
  }
  const members = Object.values(properties ?? {}).map(sizeOf)
  const item = items === undefined ? undefined : sizeOf(items)
  return {
    values:
      1 +
      members.reduce((sum, { values }) => sum + values, 0) +
      (item === undefined ? 0 : maxItems * item.values),
    depth: 1 + Math.max(0, item?.depth ?? 0, ...members.map(({ depth }) => depth)),
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
 * Whether a text of JSON holds more values, or deeper ones, than allowed. It reads the bytes and makes nothing of them:
 * a parsed value takes up to sixty times the bytes of its text. Ends at the first excess. What is no JSON at all may
 * pass.
 */
export function isLargerThan(json: Uint8Array, { values, depth }: JsonSize): boolean {
  let count = 1
  let level = 1
  for (let i = 0; i < json.length; i += 1) {
    const byte = json[i]
    if (byte === QUOTE) {
      i += 1
      while (i < json.length && json[i] !== QUOTE) i += json[i] === BACKSLASH ? 2 : 1
    } else if (byte === OPEN_LIST || byte === OPEN_OBJECT) {
      count += 1
      level += 1
    } else if (byte === COMMA) count += 1
    else if (byte === CLOSE_LIST || byte === CLOSE_OBJECT) level -= 1
    if (count > values || level > depth) return true
  }
  return false
}
