import type { TSchema } from 'typebox'
import { Compile } from 'typebox/compile'
import { Value } from 'typebox/value'
import { cleanText } from '../../base/text.ts'
import { ProblemError } from '../problems.ts'
import { isFit, placeOf, propertiesOf, type SchemaError } from '../read-request.ts'

/** Our bodies have five levels at most. Checks and defaults recurse: without a bound, as deep as somebody likes. */
const MAX_DEPTH = 50
const MAX_POINTER_CHARS = 200

/** Makes the reader of a JSON body. Its instants stay text. */
export function bodyReader(schema: TSchema): (given: unknown) => unknown {
  const check = Compile(schema)
  return (given) => {
    if (given === undefined || given === null) {
      throw new ProblemError('request.invalid_body', { detail: 'a body of JSON is needed' })
    }
    const unfit = findUnfit(given)
    if (unfit !== undefined) throw invalidBody(unfit)
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

/** The first place that nothing of ours could store, or that lies too deep to be looked at. */
function findUnfit(value: unknown, pointer = '', depth = 0): BodyFault | undefined {
  if (typeof value === 'string') return isFit(value) ? undefined : unfitText(pointer)
  if (typeof value !== 'object' || value === null) return undefined
  if (depth >= MAX_DEPTH) return { pointer, detail: `is nested deeper than ${MAX_DEPTH} levels` }
  for (const [name, member] of Object.entries(value)) {
    if (!isFit(name)) return unfitText(pointer)
    const found = findUnfit(member, `${pointer}/${name}`, depth + 1)
    if (found !== undefined) return found
  }
  return undefined
}

function unfitText(pointer: string): BodyFault {
  return { pointer, detail: 'text may hold no NUL and no half of a surrogate pair' }
}

/** What is wrong at the place of an error. A name that is not known is told with those that are. */
function wrongWith(schema: TSchema, error: SchemaError | undefined): string {
  if (error?.keyword !== 'boolean') {
    return error?.message ?? 'the body has not the shape that is asked for'
  }
  const path = error.schemaPath.split('/').slice(1, -1)
  const owner = path.reduce<unknown>((at, name) => (at as Record<string, unknown>)[name], schema)
  const name = cleanText(error.instancePath.split('/').at(-1) ?? '', MAX_POINTER_CHARS)
  return `${JSON.stringify(name)} is not known: there are ${Object.keys(propertiesOf(owner as TSchema)).join(', ')}`
}
