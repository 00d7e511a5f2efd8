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
import { Settings } from 'typebox/system'
import { lazily } from '../base/cache.ts'
import { messageOf } from '../base/errors.ts'
import { quote } from '../base/text.ts'
import type { CsvBody } from './operation.ts'
import { invalidBody, ProblemError, type ProblemFault, tooLarge } from './problems.ts'
import { isStorable, placeOf, propertiesOf, type Shape, wanted } from './read-parameters.ts'

// By default the validator ends after eight errors, among which are those of choices that the body does not mean.
Settings.Set({ maxErrors: 400 })

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
      throw invalidBody(...faultsIn(schema, check().Errors(excerptOf(given))))
    }
    const faults = unstorableIn(given)
    if (faults.length > 0) throw invalidBody(...faults)
    return given
  }
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

/** The texts that Postgres could not store. The check has limited the names and the depth. */
function unstorableIn(value: unknown, pointer = '', found: ProblemFault[] = []): ProblemFault[] {
  if (typeof value === 'string' && !isStorable(value)) found.push({ pointer, detail: UNSTORABLE })
  if (typeof value !== 'object' || value === null) return found
  for (const name in value) unstorableIn((value as Shape)[name], `${pointer}/${name}`, found)
  return found
}

/**
 * The faults of a body that does not match its schema, one a place. Misspelt names come before those that are missing. Of a
 * union whose choice is not known one fault is reported: the others are of choices that the body may not mean.
 */
function faultsIn(schema: TSchema, errors: readonly TValidationError[]): ProblemFault[] {
  const causes = errors.filter(
    ({ keyword, params }) =>
      keyword !== 'anyOf' &&
      keyword !== 'additionalProperties' &&
      (params as { type?: unknown }).type !== 'null',
  )
  const unions = Map.groupBy(causes, ({ schemaPath }) => /^.*\/anyOf\//.exec(schemaPath)?.[0])
  const placed = [...unions].flatMap(([union, own]) => {
    const choices = union === undefined ? [own] : fittingChoices(own)
    return choices.flat().map((error) => ({
      error,
      place: choices.length > 1 ? union : placeOf(error),
    }))
  })
  const fitting = placed.map(({ error }) => error)
  const first = new Map<string | undefined, TValidationError>()
  for (const isFirst of [isOtherType, isUnknownName, () => true])
    for (const { error, place } of placed)
      if (isFirst(error) && !first.has(place)) first.set(place, error)
  return [...first.values()].map((error) => faultOf(schema, error, fitting))
}

function faultOf(
  schema: TSchema,
  error: TValidationError,
  errors: readonly TValidationError[],
): ProblemFault {
  const pointer = placeOf(error)
  if (error.keyword === 'required') return { pointer, detail: 'is missing' }
  if (isOtherType(error)) {
    const types = errors.filter((one) => isOtherType(one) && placeOf(one) === pointer)
    return { pointer, detail: wanted({ enum: types.flatMap(allowedBy) }) }
  }
  if (!isUnknownName(error)) return { pointer, detail: wanted(shapeAt(schema, error)) }
  const same = errors.filter((one) => isUnknownName(one) && one.instancePath === pointer)
  const known = new Set(same.flatMap((one) => Object.keys(propertiesOf(shapeAt(schema, one)))))
  const name = quote(pointer.split('/').at(-1) ?? '')
  return { pointer, detail: `${name} is not known: there are ${[...known].join(', ')}` }
}

/** The validator applies the schema `false` to the value of a name that it does not know. */
function isUnknownName({ keyword }: TValidationError): boolean {
  return keyword === 'boolean'
}

/** The errors of a union by its choices, without the choices of another type or that do not know a name, unless all are. */
function fittingChoices(errors: readonly TValidationError[]): TValidationError[][] {
  const choices = Map.groupBy(errors, ({ schemaPath }) => /^.*\/anyOf\/\d+/.exec(schemaPath)?.[0])
  return [isOtherType, isUnknownName].reduce(
    (left, isUnfit) => {
      const fitting = left.filter((choice) => !choice.some(isUnfit))
      return fitting.length > 0 ? fitting : left
    },
    [...choices.values()],
  )
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
      const text = bytes.toString()
      return parse(request, text, (fault, value) =>
        done(fault && unreadable(jsonFault(text)), value),
      )
    },
  )
}

/** Why a body is refused. The parser's message has its own words before those that it quotes of the body. */
function jsonFault(text: string): string {
  try {
    JSON.parse(text)
    return 'no object may have the name __proto__ or constructor.prototype'
  } catch (err) {
    const why = messageOf(err).replace(/(^|, )(\.{3})?".*/s, '')
    return `the body is not JSON: ${why}. /docs has an example of each body`
  }
}

const CSV_BYTES = 20_000_000
const PIECE_BYTES = 32 * 1024

/** Makes the routes of a scope accept CSV, which their handlers receive as a file. */
export function addCsvBodies(scope: FastifyInstance): void {
  const parse = async ({ headers }: FastifyRequest, body: IncomingMessage) => {
    if (Number(headers['content-length'] ?? 0) > CSV_BYTES)
      throw tooLarge(CSV_BYTES, headers['content-length'])
    return BodyFile.of(body)
  }
  scope.addContentTypeParser('text/csv', parse)
}

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
    if (bytes > CSV_BYTES) throw tooLarge(CSV_BYTES)
    hash.update(piece)
    yield piece
  }
}

function unreadable(detail: string): ProblemError {
  return new ProblemError('request.invalid_body', { detail })
}
