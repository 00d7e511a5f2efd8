import { isUtf8 } from 'node:buffer'
import type { FastifyInstance } from 'fastify'
import type { TSchema } from 'typebox'
import { Compile } from 'typebox/compile'
import type { TValidationError } from 'typebox/error'
import { lazily } from '../base/cache.ts'
import { cleanText } from '../base/text.ts'
import { ProblemError } from './problems.ts'
import { isStorable, placeOf, propertiesOf, type Shape, wanted } from './read-parameters.ts'

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
      throw invalidBody(wrongWith(schema, check().Errors(given)))
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
  for (const [name, shape] of Object.entries(propertiesOf(schema))) {
    const { maxItems } = shape
    const list = (given as Record<string, unknown>)[name]
    if (typeof maxItems !== 'number' || !Array.isArray(list) || list.length <= maxItems) continue
    return { pointer: `/${name}`, detail: wanted(shape) }
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

/** The error of a body that does not match its schema. A misspelt name comes before the one that is missing. */
function wrongWith(schema: TSchema, errors: readonly TValidationError[]): BodyFault {
  const fitting = errorsOfFitting(errors)
  const error = fitting.find(isUnknownName) ?? fitting[0]
  if (error === undefined) {
    return { pointer: '', detail: 'the body does not have the required shape' }
  }
  const pointer = placeOf(error)
  if (!isUnknownName(error)) {
    const detail = error.keyword === 'required' ? 'is missing' : wanted(shapeAt(schema, error))
    return { pointer, detail }
  }
  const same = errors.filter((one) => isUnknownName(one) && one.instancePath === pointer)
  const known = new Set(same.flatMap((one) => Object.keys(propertiesOf(shapeAt(schema, one)))))
  const name = cleanText(pointer.split('/').at(-1) ?? '', MAX_POINTER_CHARS)
  return {
    pointer,
    detail: `${JSON.stringify(name)} is not known: there are ${[...known].join(', ')}`,
  }
}

/** The validator applies the schema `false` to the value of a name that it does not know. */
function isUnknownName({ keyword }: TValidationError): boolean {
  return keyword === 'boolean'
}

const CHOICE = /^.*\/anyOf\/\d+/

/** The errors but those of the choices of a union that do not know a name, unless no choice knows all names. */
function errorsOfFitting(errors: readonly TValidationError[]): readonly TValidationError[] {
  const causes = errors.filter(
    ({ keyword, params }) =>
      keyword !== 'anyOf' &&
      keyword !== 'additionalProperties' &&
      (params as { type?: unknown }).type !== 'null',
  )
  const choiceOf = ({ schemaPath }: TValidationError) => CHOICE.exec(schemaPath)?.[0]
  const unfit = new Set(causes.filter(isUnknownName).map(choiceOf))
  const fitting = causes.filter((error) => {
    const choice = choiceOf(error)
    return choice === undefined || !unfit.has(choice)
  })
  return fitting.length > 0 ? fitting : causes
}

/** The part of the schema that an error is about; for an unknown name the object that does not have it. */
function shapeAt(schema: TSchema, { keyword, schemaPath }: TValidationError): Shape {
  const path = schemaPath.split('/').slice(1, keyword === 'boolean' ? -1 : undefined)
  const at = path.reduce<unknown>((shape, name) => (shape as Shape)[name], schema)
  return at as Shape
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
      const text = bytes.toString()
      return parse(request, text, (fault, value) =>
        // The parser's own message may quote the body.
        fault === null ? done(null, value) : done(unreadable(whyNotJson(text))),
      )
    },
  )
}

function whyNotJson(text: string): string {
  const at = findJsonFault(text)
  if (at === undefined) return 'the name __proto__, or constructor with prototype, is not allowed'
  const place = placeIn(text, at)
  return at === text.length
    ? `the body ends too early, at ${place}`
    : `the body is not JSON at ${place}`
}

/** Without a list of the lines: three megabytes may be three million lines. */
function placeIn(text: string, at: number): string {
  let lines = 1
  let start = 0
  for (let end = text.indexOf('\n'); end !== -1 && end < at; end = text.indexOf('\n', start)) {
    lines += 1
    start = end + 1
  }
  return `line ${lines}, column ${at - start + 1}`
}

const SPACES = /[ \t\n\r]+/y
const SCALAR =
  /"(?:[ !#-[\]-\u{10ffff}]|\\(?:["\\/bfnrt]|u[\da-fA-F]{4}))*"|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/uy

/**
 * The index at which a text stops being JSON; undefined if it is JSON. The parser's message has the index in some
 * cases only.
 */
export function findJsonFault(text: string): number | undefined {
  /** What closes each open object and list. */
  const closers: string[] = []
  let expected: 'value' | 'name' | 'colon' | 'comma' = 'value'
  let isOpened = false
  let at = 0
  for (; at < text.length; at++) {
    const char = text.charAt(at)
    SPACES.lastIndex = at
    if (SPACES.test(text)) {
      at = SPACES.lastIndex - 1
      continue
    }
    const wasOpened = isOpened
    isOpened = false
    if (char === closers.at(-1) && (expected === 'comma' || wasOpened)) {
      closers.pop()
      expected = 'comma'
    } else if (expected === 'comma') {
      if (char !== ',' || closers.length === 0) return at
      expected = closers.at(-1) === '}' ? 'name' : 'value'
    } else if (expected === 'colon') {
      if (char !== ':') return at
      expected = 'value'
    } else if (expected === 'value' && (char === '{' || char === '[')) {
      closers.push(char === '{' ? '}' : ']')
      expected = char === '{' ? 'name' : 'value'
      isOpened = true
    } else {
      SCALAR.lastIndex = at
      if (!SCALAR.test(text) || (expected === 'name' && char !== '"')) return at
      at = SCALAR.lastIndex - 1
      expected = expected === 'name' ? 'colon' : 'comma'
    }
  }
  return expected === 'comma' && closers.length === 0 ? undefined : at
}

/** Makes the routes of a scope accept CSV, which their handlers receive as bytes. */
export function addCsvBodies(scope: FastifyInstance): void {
  scope.addContentTypeParser('text/csv', { parseAs: 'buffer' }, (_request, bytes, done) =>
    done(null, bytes),
  )
}

function unreadable(detail: string): ProblemError {
  return new ProblemError('request.invalid_body', { detail })
}
