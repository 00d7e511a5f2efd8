import { isUtf8 } from 'node:buffer'
import type { FastifyInstance } from 'fastify'
import type { TSchema } from 'typebox'
import { Compile } from 'typebox/compile'
import { Value } from 'typebox/value'
import { cleanText } from '../base/text.ts'
import { ProblemError } from './problems.ts'
import { isStorable, placeOf, propertiesOf, type SchemaError } from './read-parameters.ts'

/** Our bodies have at most five levels. The check and the defaults recurse, so a deeper body could exhaust the stack. */
const MAX_DEPTH = 50
const MAX_POINTER_CHARS = 200

/** Creates the reader of a JSON body. Instants in it stay text. */
export function bodyReader(schema: TSchema): (given: unknown) => unknown {
  const check = Compile(schema)
  return (given) => {
    if (given === undefined || given === null) {
      throw new ProblemError('request.invalid_body', { detail: 'a body of JSON is needed' })
    }
    const fault = findFault(given)
    if (fault !== undefined) throw invalidBody(fault)
    const complete = Value.Default(schema, given)
    if (check.Check(complete)) return complete
    const [error] = check.Errors(complete)
    throw invalidBody({ pointer: placeOf(error), detail: wrongWith(schema, error) })
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

/** The first place that Postgres could not store or that is nested too deeply. */
function findFault(value: unknown, pointer = '', depth = 0): BodyFault | undefined {
  if (typeof value === 'string') return isStorable(value) ? undefined : unstorable(pointer)
  if (typeof value !== 'object' || value === null) return undefined
  if (depth >= MAX_DEPTH) return { pointer, detail: `is nested deeper than ${MAX_DEPTH} levels` }
  for (const [name, member] of Object.entries(value)) {
    if (!isStorable(name)) return unstorable(pointer)
    const found = findFault(member, `${pointer}/${name}`, depth + 1)
    if (found !== undefined) return found
  }
  return undefined
}

function unstorable(pointer: string): BodyFault {
  return { pointer, detail: 'text may hold no NUL and no half of a surrogate pair' }
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

const NOT_JSON = 'the body is not JSON, or one of its names is not allowed'

function unreadable(detail: string): ProblemError {
  return new ProblemError('request.invalid_body', { detail })
}
