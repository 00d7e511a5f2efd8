import {
  type Static,
  type TObjectOptions,
  type TProperties,
  type TSchema,
  type TSchemaOptions,
  Type,
} from 'typebox'
import { memoized } from '../base/cache.ts'

/** The largest whole number that a parameter accepts: every number of fifteen digits is exact in a double. */
export const MAX_WHOLE_NUMBER = 10 ** 15 - 1

/** The id of a row that counts up from 1. */
export const RowId = Type.Integer({ minimum: 1, maximum: MAX_WHOLE_NUMBER })

/** An instant: text with a zone in requests and responses, a Date in handlers. */
export const Instant = instant()

export function instant(description?: string) {
  const shape = { type: 'string', format: 'date-time' }
  return Type.Unsafe<Date>(description === undefined ? shape : { ...shape, description })
}

/**
 * An object without additional properties: unknown members of requests are refused, and a test finds undocumented
 * members of answers, which are published by `opened`. With a `title` it becomes the component of that name in the OpenAPI document.
 */
export function object<P extends TProperties>(properties: P, options: TObjectOptions = {}) {
  return Type.Object(properties, { ...options, additionalProperties: false })
}

/** One of several texts. */
export function oneOf<const V extends readonly string[]>(values: V, options: TSchemaOptions = {}) {
  return Type.Unsafe<V[number]>({ ...options, type: 'string', enum: [...values] })
}

/** A union of objects with titles that differ by the only value of one member. */
export function unionBy<S extends TSchema>(member: string, title: string, choices: readonly S[]) {
  const union = Type.Union([...choices], { title, discriminator: { propertyName: member } })
  return Type.Unsafe<Static<S>>(union)
}

type Json = Readonly<Record<string, unknown>>

/** Rewrites every object within a schema, each once: many schemas have the same parts. */
export function rewriting(rewrite: (part: Json) => object): (schema: unknown) => unknown {
  const once = memoized(rewrite)
  const all = (schema: unknown): unknown => {
    if (Array.isArray(schema)) return schema.map(all)
    return typeof schema === 'object' && schema !== null ? once(schema as Json) : schema
  }
  return all
}

/**
 * A schema of what we send, as it is published: a later version may add members, values of lists and kinds of a union.
 *
 * An enum becomes text with `x-extensible-enum`, which every generator of code reads as text: a union of enum and text
 * becomes a wrapper in some, and an enum fails at the first new value. A single value is a constant and stays.
 */
export const opened = rewriting(({ additionalProperties: _closed, enum: values, ...rest }) => {
  const open: Json = Object.fromEntries(
    Object.entries(rest).map(([name, value]) => [name, opened(value)]),
  )
  if (Array.isArray(values)) {
    return { ...open, [values.length > 1 ? 'x-extensible-enum' : 'enum']: values as unknown[] }
  }
  const { title, anyOf, discriminator } = open
  if (discriminator === undefined) return open
  const { propertyName } = discriminator as { readonly propertyName: string }
  const other = otherChoice(anyOf as Choice[], propertyName)
  return { ...open, anyOf: [...(anyOf as Choice[]), { ...other, title: `Other${String(title)}` }] }
})

interface Choice {
  readonly properties: Readonly<Record<string, Json>>
  readonly required: readonly string[]
}

/** The choice of a union that a later version adds: it has the members that all others have. */
function otherChoice(choices: readonly Choice[], member: string) {
  const shared = (choices[0]?.required ?? []).filter((name) =>
    choices.every(({ required }) => required.includes(name)),
  )
  const properties = shared.map((name) => {
    const all = choices.map((choice) => choice.properties[name] ?? {})
    if (name === member) {
      const known = { type: 'string', enum: all.flatMap((one) => one.enum) }
      return [name, { type: 'string', not: known }] as const
    }
    const plain = all.flatMap(({ description: _description, ...one }) =>
      Array.isArray(one.anyOf) ? (one.anyOf as Json[]) : [one],
    )
    const different = [...new Map(plain.map((one) => [JSON.stringify(one), one])).values()]
    if (different.length === 1) return [name, different[0]] as const
    const areObjects = different.every(({ type }) => type === 'object')
    return [name, areObjects ? { type: 'object' } : { anyOf: different }] as const
  })
  return { type: 'object', required: shared, properties: Object.fromEntries(properties) }
}

export function orNull<T extends TSchema>(schema: T, description?: string) {
  return Type.Union([schema, Type.Null()], description === undefined ? {} : { description })
}
