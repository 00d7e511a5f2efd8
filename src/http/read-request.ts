import { type TSchema, Type } from 'typebox'
import { Compile } from 'typebox/compile'
import { Value } from 'typebox/value'
import type { ProblemCode } from './problem-codes.ts'
import { ProblemError } from './problems.ts'

type Texts = Readonly<Record<string, unknown>>
type Shape = Readonly<Record<string, unknown>>

/** An instant: text with its zone on the wire, a Date for whoever handles it. */
export const Instant = Type.Unsafe<Date>({ type: 'string', format: 'date-time' })

/** The largest whole number that a parameter may be: all of fifteen digits are exact. */
export const MAX_WHOLE_NUMBER = 10 ** 15 - 1

const INTEGER = /^-?\d{1,15}$/
const NUMBER = /^-?\d{1,15}(\.\d{1,15})?$/

/**
 * Makes the reader of the parameters of a path or of a query.
 *
 * Strict, unlike the usual coercion: "1.5" and "1e3" and "" are no whole numbers, "yes" is no boolean. Arrays are
 * written with commas. Throws a ProblemError that names the parameter and never its value, which may be a secret.
 */
export function parameterReader(schema: TSchema): (given: Texts) => unknown {
  const check = Compile(schema)
  const properties = propertiesOf(schema)
  return (given) => {
    const typed: Record<string, unknown> = {}
    for (const [name, property] of Object.entries(properties)) {
      const text = given[name]
      if (typeof text === 'string') typed[name] = typedValue(property, fitText(text, name))
    }
    const complete = Value.Default(schema, typed)
    if (check.Check(complete)) return withDates(properties, complete as Record<string, unknown>)
    const name = placeOf(check.Errors(complete)[0]).split('/')[1] ?? ''
    const property = properties[name]
    throw new ProblemError('request.invalid_parameter', {
      parameter: name,
      detail: `${name} ${property === undefined ? 'is not known' : wanted(property, name in typed)}`,
    })
  }
}

/** The names of a schema's properties, with their schemas. */
export function propertiesOf(schema: TSchema | undefined): Readonly<Record<string, Shape>> {
  return (schema as { properties?: Record<string, Shape> } | undefined)?.properties ?? {}
}

/** What is wrong with a value by its schema. */
export interface SchemaError {
  readonly keyword: string
  readonly schemaPath: string
  readonly instancePath: string
  readonly params: object
  readonly message: string
}

/** The place of an error; of a missing or an unknown property, that property's own. */
export function placeOf(error: SchemaError | undefined): string {
  if (error === undefined) return ''
  const { requiredProperties, additionalProperties } = error.params as Partial<
    Record<string, string[]>
  >
  const [name] = requiredProperties ?? additionalProperties ?? []
  return name === undefined ? error.instancePath : `${error.instancePath}/${name}`
}

/** Text that is no number stays text, and so fails the check. */
function typedValue(shape: Shape, text: string): unknown {
  if (shape.type === 'integer' && INTEGER.test(text)) return Number(text)
  if (shape.type === 'number' && NUMBER.test(text)) return Number(text)
  if (shape.type === 'boolean' && (text === 'true' || text === 'false')) return text === 'true'
  if (shape.type === 'array') {
    return text.split(',').map((part) => typedValue(shape.items as Shape, part))
  }
  return text
}

function withDates(
  properties: Readonly<Record<string, Shape>>,
  values: Record<string, unknown>,
): Record<string, unknown> {
  for (const [name, value] of Object.entries(values)) {
    if (properties[name]?.format !== 'date-time' || typeof value !== 'string') continue
    const instant = new Date(value)
    if (Number.isNaN(instant.getTime())) {
      const detail = `${name} must be an instant such as 2026-01-31T12:00:00Z`
      throw new ProblemError('request.invalid_parameter', { parameter: name, detail })
    }
    values[name] = instant
  }
  return values
}

/** What a parameter must be, from its schema. */
function wanted(shape: Shape, given: boolean): string {
  if (!given) return 'is missing'
  const { type, minimum, maximum, format, maxLength, pattern } = shape
  if (type === 'array') return wantedList(shape)
  const choices = choicesOf(shape)
  if (choices.length > 0) return `must be one of ${choices.join(', ')}`
  if (type === 'integer' || type === 'number') {
    const number = type === 'integer' ? 'a whole number' : 'a number'
    return `must be ${number} from ${minimum ?? '…'} to ${maximum ?? '…'}`
  }
  if (type === 'boolean') return 'must be true or false'
  if (format === 'date-time') return 'must be an instant such as 2026-01-31T12:00:00Z'
  if (format !== undefined) return `must be of the form ${format}`
  if (pattern !== undefined) return `must match ${pattern}`
  return maxLength === undefined ? 'is not allowed' : `must have 1 to ${maxLength} characters`
}

/** @example 'must be some of added, removed, at most 2' */
function wantedList({ items, maxItems }: Shape): string {
  const choices = choicesOf(items as Shape)
  const atMost = maxItems === undefined ? '' : `, at most ${maxItems}`
  if (choices.length > 0) return `must be some of ${choices.join(', ')}${atMost}`
  return `must be values with commas between them${atMost}, and each ${wanted(items as Shape, true)}`
}

function choicesOf(shape: Shape): unknown[] {
  if (Array.isArray(shape.enum)) return shape.enum
  const options = (shape.anyOf ?? []) as Shape[]
  return options.flatMap((option) => ('const' in option ? [option.const] : []))
}

const NUL = '\0'

/** Postgres takes neither NUL nor, in JSON, half of a surrogate pair. */
export function isFit(text: string): boolean {
  return !text.includes(NUL) && text.isWellFormed()
}

function fitText(text: string, parameter: string, code: ProblemCode = 'request.invalid_parameter') {
  if (isFit(text)) return text
  throw new ProblemError(code, { parameter, detail: `${parameter} may hold no NUL` })
}
