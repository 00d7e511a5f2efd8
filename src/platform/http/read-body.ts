import { isUtf8 } from 'node:buffer'
import { createHash, type Hash, randomUUID } from 'node:crypto'
import { type FileHandle, open, unlink, writeFile } from 'node:fs/promises'
import type { IncomingMessage } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { TSchema } from 'typebox'
import { Compile } from 'typebox/compile'
import type { TValidationError } from 'typebox/error'
import { lazily } from '../base/cache.ts'
import { cleanText } from '../base/text.ts'
import type { CsvBody } from './operation.ts'
import { ProblemError } from './problems.ts'
import { isStorable, placeOf, propertiesOf, type Shape, wanted } from './read-parameters.ts'

const MAX_POINTER_CHARS = 200

/**
 * Creates the reader of a JSON body. Instants in it stay text.
 *
 * The compiled check comes first and ends at the first fault, so that no other step meets more values, or deeper ones,
 * than the schema allows.
 */
export function bodyReader(schema: TSchema): (given: unknown) => unknown {
  const check = lazily(() => Compile(schema))
  return (given) => {
    if (given === undefined || given === null) {
      throw new ProblemError('request.invalid_body', { detail: 'a body of JSON is needed' })
    }
    if (!check().Check(given)) {
      throw invalidBody(wrongWith(schema, check().Errors(excerptOf(given))))
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

/** More than a schema allows. */
const EXCERPT = { items: 5_001, names: 100, depth: 20 }

/** As much of a body as shows what is wrong: to find the errors, the validator walks through all that it is given. */
function excerptOf(value: unknown, depth = 0): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (depth === EXCERPT.depth) return null
  const inner = (one: unknown) => excerptOf(one, depth + 1)
  if (Array.isArray(value)) return value.slice(0, EXCERPT.items).map(inner)
  const names = Object.keys(value).slice(0, EXCERPT.names)
  return Object.fromEntries(names.map((name) => [name, inner((value as Shape)[name])]))
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
  const error = fitting.find(isUnknownName) ?? fitting.find(isOtherType) ?? fitting[0]
  if (error === undefined) {
    return { pointer: '', detail: 'the body does not have the required shape' }
  }
  const pointer = placeOf(error)
  if (error.keyword === 'required') return { pointer, detail: 'is missing' }
  if (isOtherType(error)) {
    const types = errors.filter((one) => isOtherType(one) && placeOf(one) === pointer)
    return { pointer, detail: wanted({ enum: types.flatMap(allowedBy) }) }
  }
  if (!isUnknownName(error)) return { pointer, detail: wanted(shapeAt(schema, error)) }
  const same = fitting.filter((one) => isUnknownName(one) && one.instancePath === pointer)
  const known = new Set(same.flatMap((one) => Object.keys(propertiesOf(shapeAt(schema, one)))))
  const name = JSON.stringify(cleanText(pointer.split('/').at(-1) ?? '', MAX_POINTER_CHARS))
  return { pointer, detail: `${name} is not known: there are ${[...known].join(', ')}` }
}

/** The validator applies the schema `false` to the value of a name that it does not know. */
function isUnknownName({ keyword }: TValidationError): boolean {
  return keyword === 'boolean'
}

const CHOICE = /^.*\/anyOf\/\d+/

/**
 * The errors but those of the choices of a union that are of another type, unless all are; and of those that do not
 * know a name, unless no choice knows all names.
 */
function errorsOfFitting(errors: readonly TValidationError[]): readonly TValidationError[] {
  const causes = errors.filter(
    ({ keyword, params }) =>
      keyword !== 'anyOf' &&
      keyword !== 'additionalProperties' &&
      (params as { type?: unknown }).type !== 'null',
  )
  const choiceOf = ({ schemaPath }: TValidationError) => CHOICE.exec(schemaPath)?.[0]
  return [isOtherType, isUnknownName].reduce((left, isUnfit) => {
    const unfit = new Set(left.filter(isUnfit).flatMap((error) => choiceOf(error) ?? []))
    const fitting = left.filter((error) => !unfit.has(choiceOf(error) ?? ''))
    return fitting.length > 0 ? fitting : left
  }, causes)
}

/** A member that has one value in each choice has another one. */
function isOtherType(error: TValidationError): boolean {
  return error.keyword === 'enum' && allowedBy(error).length === 1
}

function allowedBy({ params }: TValidationError): readonly unknown[] {
  return (params as { allowedValues: unknown[] }).allowedValues
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
      // The parser's own message may quote the body.
      return parse(request, bytes.toString(), (fault, value) =>
        done(fault && unreadable('the body is not JSON, or has the name __proto__'), value),
      )
    },
  )
}

const CSV_BYTES = 20_000_000
const PIECE_BYTES = 32 * 1024

/** Makes the routes of a scope accept CSV, which their handlers receive as a file. */
export function addCsvBodies(scope: FastifyInstance): void {
  const parse = async ({ headers }: FastifyRequest, body: IncomingMessage) => {
    if (Number(headers['content-length'] ?? 0) > CSV_BYTES) throw new ProblemError(TOO_LARGE)
    return BodyFile.of(body)
  }
  scope.addContentTypeParser('text/csv', parse)
}

const TOO_LARGE = 'request.too_large'

/** A body in a file without a name, which the system deletes with the process at the latest. It can be read again. */
export class BodyFile implements CsvBody {
  readonly name = 'the body'
  readonly sha256: Buffer
  readonly #file: FileHandle

  private constructor(file: FileHandle, sha256: Buffer) {
    this.#file = file
    this.sha256 = sha256
  }

  static async of(body: Readable): Promise<BodyFile> {
    const path = join(tmpdir(), `farewatch-${randomUUID()}`)
    const file = await open(path, 'wx+', 0o600)
    const hash = createHash('sha256')
    try {
      await unlink(path)
      await writeFile(file, counted(body, hash))
    } catch (err) {
      await file.close()
      // Else the disk is at fault.
      throw body.errored ? unreadable('the body ends too early') : err
    }
    return new BodyFile(file, hash.digest())
  }

  /** In small pieces: other requests run between two of them. */
  readonly read = (): AsyncIterable<Buffer> => piecesOf(this.#file)

  close(): Promise<void> {
    return this.#file.close()
  }
}

async function* piecesOf(file: FileHandle): AsyncGenerator<Buffer> {
  for (let at = 0; ; ) {
    const { bytesRead, buffer } = await file.read(Buffer.alloc(PIECE_BYTES), 0, PIECE_BYTES, at)
    if (bytesRead === 0) return
    yield buffer.subarray(0, bytesRead)
    at += bytesRead
  }
}

/** A body that is refused is not destroyed, because that would close the connection before the response. */
async function* counted(body: Readable, hash: Hash): AsyncGenerator<Buffer> {
  let bytes = 0
  for await (const piece of body.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    bytes += piece.length
    if (bytes > CSV_BYTES) throw new ProblemError(TOO_LARGE)
    hash.update(piece)
    yield piece
  }
}

function unreadable(detail: string): ProblemError {
  return new ProblemError('request.invalid_body', { detail })
}
