import { cleanText } from '../base/text.ts'

export type JsonValue = string | number | boolean | null | readonly JsonValue[] | JsonObject
/** The payload of a job: ids only. Our tables hold the data. */
export type JsonObject = { readonly [key: string]: JsonValue }

/**
 * Removes what a store would refuse, NUL and lone surrogates, at any depth. Cuts nothing.
 *
 * Throws a TypeError for a value that JSON would silently drop or change (undefined, NaN, a Date): a bug of the caller.
 */
export function cleanPayload(payload: JsonObject): JsonObject {
  return cleanObject(payload, 'payload')
}

function cleanObject(value: object, path: string): JsonObject {
  const entries = Object.entries(value).map(([key, inner]) => [
    cleanText(key, Number.POSITIVE_INFINITY),
    cleanValue(inner, `${path}.${key}`),
  ])
  return Object.fromEntries(entries)
}

function cleanValue(value: unknown, path: string): JsonValue {
  if (value === null || typeof value === 'boolean') return value
  if (typeof value === 'string') return cleanText(value, Number.POSITIVE_INFINITY)
  if (typeof value === 'number' && Number.isFinite(value)) return value
  if (Array.isArray(value)) return value.map((inner, i) => cleanValue(inner, `${path}[${i}]`))
  if (isPlainObject(value)) return cleanObject(value, path)
  throw new TypeError(`${path} is not JSON: a job payload holds ids only`)
}

function isPlainObject(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}
