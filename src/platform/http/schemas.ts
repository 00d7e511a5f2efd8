import {
  type TObjectOptions,
  type TProperties,
  type TSchema,
  type TSchemaOptions,
  Type,
} from 'typebox'

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
 * An object without additional properties: unknown parameters are refused, and a test finds undocumented members of
 * responses. With a `title` it becomes the component of that name in the OpenAPI document.
 */
export function object<P extends TProperties>(properties: P, options: TObjectOptions = {}) {
  return Type.Object(properties, { ...options, additionalProperties: false })
}

/** One of several texts. */
export function oneOf<const V extends readonly string[]>(values: V, options: TSchemaOptions = {}) {
  return Type.Unsafe<V[number]>({ ...options, type: 'string', enum: [...values] })
}

export function orNull<T extends TSchema>(schema: T, description?: string) {
  return Type.Union([schema, Type.Null()], description === undefined ? {} : { description })
}
