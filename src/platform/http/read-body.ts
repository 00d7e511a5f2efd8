import { isUtf8 } from 'node:buffer'
import type { FastifyInstance } from 'fastify'
import type { TSchema } from 'typebox'
import { Compile } from 'typebox/compile'
import { lazily } from '../base/cache.ts'
import { cleanText } from '../base/text.ts'
import { ProblemError } from './problems.ts'
import { isStorable, placeOf, propertiesOf, type SchemaError } from './read-parameters.ts'

const MAX_POINTER_CHARS = 200

/**
 * Creates the reader of a JSON body. Instants in it stay text.
 *
 * The compiled check comes first and ends at the first fault, so that no other step meets more values, or deeper ones,
 * than the schema allows. Three megabytes of empty objects would otherwise block the process for seconds.
 */
export function bodyReader(schema: TSchema): (given: unknown) => unknown {
  const check = lazily(() => Compile(schema))
  return (given) => {
    if (given === undefined || given === null) {
      throw new ProblemError('request.invalid_body', { detail: 'a body of JSON is needed' })
    }
    if (!check().Check(given)) {
      // The validator collects the errors of all elements, so the longest lists are refused before.
      const long = longList(schema, given)
      if (long !== undefined) throw invalidBody(long)
      const [error] = check().Errors(given)
      throw invalidBody({ pointer: placeOf(error), detail: wrongWith(schema, error) })
    }
    const place = findUnstorable(given)
    if (place !== undefined) throw invalidBody({ pointer: place, detail: UNSTORABLE })
    return given
  }
}

interface BodyFault {
  readonly pointer: string
  readonly detail: string
}

function invalidBody({ pointer, detail }: BodyFault): ProblemError {
  return new ProblemError('request.invalid_body', {
    pointer: cleanText(pointer, MAX_POINTER_CHARS),
    detail,
  })
}

/** The first member that is a list of more values than its schema allows. */
function longList(schema: TSchema, given: unknown): BodyFault | undefined {
  for (const [name, { maxItems }] of Object.entries(propertiesOf(schema))) {
    const list = (given as Record<string, unknown>)[name]
    if (typeof maxItems !== 'number' || !Array.isArray(list) || list.length <= maxItems) continue
    return { pointer: `/${name}`, detail: `must not have more than ${maxItems} items` }
  }
  return undefined
}

const UNSTORABLE = 'text may hold no NUL and no half of a surrogate pair'

/** The pointer of the first text that Postgres could not store. The check has limited the names and the depth. */
function findUnstorable(value: unknown): string | undefined {
  if (typeof value === 'string') return isStorable(value) ? undefined : ''
  if (typeof value !== 'object' || value === null) return undefined
  for (const name in value) {
    const place = findUnstorable((value as Record<string, unknown>)[name])
    if (place !== undefined) return `/${name}${place}`
  }
  return undefined
}

/** Describes an error of the validator. An unknown name is listed together with the known ones. */
function wrongWith(schema: TSchema, error: SchemaError | undefined): string {
  if (error?.keyword !== 'boolean') {
    return error?.message ?? 'the body does not have the required shape'
  }
  const path = error.schemaPath.split('/').slice(1, -1)
  const owner = path.reduce<unknown>((at, name) => (at as Record<string, unknown>)[name], schema)
  const name = cleanText(error.instancePath.split('/').at(-1) ?? '', MAX_POINTER_CHARS)
  return `${JSON.stringify(name)} is not known: there are ${Object.keys(propertiesOf(owner as TSchema)).join(', ')}`
}

/**
 * Makes the server parse JSON bodies. They must be UTF-8: invalid bytes would be replaced silently, and two different
 * names could become one. An empty body is undefined; the operation decides whether it needs one.
 */
export function addJsonBodies(server: FastifyInstance): void {
  // 'error': refuses __proto__ and constructor.prototype as names.
  const parse = server.getDefaultJsonParser('error', 'error')
  server.addContentTypeParser(
    'application/json',
    { parseAs: 'buffer' },
    (request, bytes: Buffer, done) => {
      if (bytes.length === 0) return done(null, undefined)
      if (!isUtf8(bytes)) return done(unreadable('the body is not UTF-8'))
      return parse(request, bytes.toString(), (fault, value) =>
        // The parser's own message may quote the body.
        fault === null ? done(null, value) : done(unreadable(NOT_JSON)),
      )
    },
  )
}

/** Makes the routes of a scope accept CSV, which their handlers receive as bytes. */
export function addCsvBodies(scope: FastifyInstance): void {
  scope.addContentTypeParser('text/csv', { parseAs: 'buffer' }, (_request, bytes, done) =>
    done(null, bytes),
  )
}

const NOT_JSON = 'the body is not JSON, or one of its names is not allowed'

function unreadable(detail: string): ProblemError {
  return new ProblemError('request.invalid_body', { detail })
}
