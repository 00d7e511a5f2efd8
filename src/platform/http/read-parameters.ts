import type { FastifyReply, FastifyRequest } from 'fastify'
import type { TSchema } from 'typebox'
import { Compile } from 'typebox/compile'
import type { TValidationError } from 'typebox/error'
import { Value } from 'typebox/value'
import { lazily } from '../base/cache.ts'
import { cleanText } from '../base/text.ts'
import { ProblemError } from './problems.ts'

/** The query parameter in which the upstream's own interface takes its credential. */
export const TOKEN_PARAMETER = 'accessToken'

type Texts = Readonly<Record<string, unknown>>
/** A part of a schema. */
export type Shape = Readonly<Record<string, unknown>>

const INTEGER = /^-?\d{1,15}$/
const NUMBER = /^-?\d{1,15}(\.\d{1,15})?$/

/**
 * Creates the reader of path or query parameters. It is stricter than the usual coercion: "1.5", "1e3" and "" are not
 * whole numbers, "yes" is not a boolean. The values of a list are separated by commas.
 *
 * Throws a ProblemError that names the parameter but never its value, which may be a secret.
 */
export function parameterReader(schema: TSchema): (given: Texts) => unknown {
  const check = lazily(() => Compile(schema))
  const properties = propertiesOf(schema)
  return (given) => {
    const typed: Record<string, unknown> = {}
    for (const [name, property] of Object.entries(properties)) {
      const text = given[name]
      if (typeof text === 'string') typed[name] = typedValue(property, storableText(text, name))
    }
    const complete = Value.Default(schema, typed)
    if (check().Check(complete)) return withDates(properties, complete as Record<string, unknown>)
    const name = placeOf(check().Errors(complete)[0]).split('/')[1] ?? ''
    const property = properties[name]
    throw new ProblemError('request.invalid_parameter', {
      parameter: name,
      detail: `${name} ${wantedOf(property, name in typed)}`,
    })
  }
}

/** The property schemas of an object schema, by name. */
export function propertiesOf(schema: object | undefined): Readonly<Record<string, Shape>> {
  return (schema as { properties?: Record<string, Shape> } | undefined)?.properties ?? {}
}

/** The JSON pointer of an error. For a missing property it is the pointer of that property. */
export function placeOf(error: TValidationError | undefined): string {
  if (error === undefined) return ''
  if (error.keyword !== 'required') return error.instancePath
  return `${error.instancePath}/${error.params.requiredProperties[0]}`
}

/** Text that does not match its type's grammar stays text, so that the schema check refuses it. */
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

/** Describes what a parameter must be. A list is written with commas. */
function wantedOf(shape: Shape | undefined, given: boolean): string {
  if (shape === undefined) return 'is not known'
  if (!given) return 'is missing'
  return shape.type === 'array' ? wantedList(shape) : wanted(shape)
}

/** Describes what a value of a parameter or of a body must be, by its schema. */
export function wanted(shape: Shape): string {
  const { type, minimum, maximum, minItems, maxItems, minLength, maxLength } = shape
  const { format, pattern } = shape
  const choices = choicesOf(shape)
  if (choices.length === 1) return `must be ${choices[0]}`
  if (choices.length > 1) return `must be one of ${choices.join(', ')}`
  if (type === 'array') return `must be a list${sizeOf(minItems, maxItems, ' values')}`
  if (type === 'object')
    return `must be an object${sizeOf(shape.minProperties, undefined, ' names')}`
  if (type === 'integer') return `must be a whole number${rangeOf(minimum, maximum)}`
  if (type === 'number') return `must be a number${rangeOf(minimum, maximum)}`
  if (type === 'boolean') return 'must be true or false'
  if (format === 'date-time') return 'must be an instant such as 2026-01-31T12:00:00Z'
  if (format !== undefined) return `must be of the form ${format}`
  if (pattern !== undefined) return `must match ${pattern}`
  return `must be text${sizeOf(minLength, maxLength, ' characters')}`
}

/** @example sizeOf(1, 5, ' characters') // ' of 1 to 5 characters' */
function sizeOf(least: unknown, most: unknown, unit: string): string {
  if (most !== undefined) return ` of ${least ?? 0} to ${most}${unit}`
  return least === undefined ? '' : ` of at least ${least}${unit}`
}

function rangeOf(least: unknown, most: unknown): string {
  return least !== undefined && most !== undefined
    ? ` from ${least} to ${most}`
    : sizeOf(least, most, '')
}

/** @example 'must be some of added, removed, at most 2' */
function wantedList({ items, maxItems }: Shape): string {
  const choices = choicesOf(items as Shape)
  const atMost = maxItems === undefined ? '' : `, at most ${maxItems}`
  if (choices.length > 0) return `must be some of ${choices.join(', ')}${atMost}`
  return `must be values with commas between them${atMost}, and each ${wanted(items as Shape)}`
}

function choicesOf(shape: Shape): unknown[] {
  if ('const' in shape) return [shape.const]
  return Array.isArray(shape.enum) ? shape.enum : []
}

const NUL = '\0'

/** Whether Postgres can store the text: it accepts neither NUL nor, in jsonb, half of a surrogate pair. */
export function isStorable(text: string): boolean {
  return !text.includes(NUL) && text.isWellFormed()
}

function storableText(text: string, parameter: string): string {
  if (isStorable(text)) return text
  const detail = `${parameter} may hold no NUL`
  throw new ProblemError('request.invalid_parameter', { parameter, detail })
}

const MAX_NAMED = 10
const MAX_NAME_CHARS = 60
const IGNORED_HEADER = 'farewatch-ignored'

/**
 * The query parameters that an operation has. A list may be repeated, and its values are joined by commas. Any other
 * parameter that is given twice is refused. An unknown one is refused too, because a misspelt filter would otherwise
 * have no effect. The upstream's own endpoints ignore unknown parameters, as its interface specifies.
 */
export function checkQuery(
  { query, upstream }: { readonly query: TSchema | undefined; readonly upstream: boolean },
  { request, reply }: { request: FastifyRequest; reply: FastifyReply },
): Record<string, unknown> {
  const properties = propertiesOf(query)
  const isKnown = (name: string) => Object.hasOwn(properties, name)
  const given = Object.entries(request.query as Record<string, unknown>)
  const unknownNames = given
    .map(([name]) => name)
    .filter((name) => !isKnown(name) && name !== TOKEN_PARAMETER)
  const known = given
    .filter(([name]) => isKnown(name))
    .map(([name, value]) => {
      if (!Array.isArray(value)) return [name, value]
      if (properties[name]?.type === 'array') return [name, value.join(',')]
      const detail = `${name} is given twice`
      throw new ProblemError('request.doubled_parameter', { parameter: name, detail })
    })
  if (unknownNames.length > 0) {
    if (!upstream) throw unknownParameter(unknownNames, Object.keys(properties))
    ignoreParameters(reply, unknownNames)
  }
  return Object.fromEntries(known)
}

function unknownParameter(unknownNames: readonly string[], known: readonly string[]) {
  const names = unknownNames.slice(0, MAX_NAMED).map((name) => cleanText(name, MAX_NAME_CHARS))
  const parameters = known.length === 0 ? 'it has none' : `it has ${known.join(', ')}`
  return new ProblemError('request.unknown_parameter', {
    parameter: names[0],
    detail: `the endpoint does not have ${names.map((name) => JSON.stringify(name)).join(', ')}: ${parameters}`,
  })
}

/** Names the parameters that had no effect in a response header. A second call adds to the first. */
export function ignoreParameters(reply: FastifyReply, names: readonly string[]): void {
  const before = reply.getHeader(IGNORED_HEADER)
  const shown = names
    .slice(0, MAX_NAMED)
    .map((name) => encodeURIComponent(cleanText(name, MAX_NAME_CHARS)))
  reply.header(IGNORED_HEADER, [...(before === undefined ? [] : [before]), ...shown].join(', '))
}
