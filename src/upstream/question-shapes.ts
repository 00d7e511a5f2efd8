import { type TOptional, type TSchema, type TUnsafe, Type } from 'typebox'
import { object, orNull } from '../platform/http/schemas.ts'
import {
  QUESTION_FIELDS,
  type Question,
  type QuestionField,
  type QuestionInput,
  TERM_FIELDS,
  valuesText,
} from './question.ts'

type Members<T> = { [K in keyof T]-?: TUnsafe<Exclude<T[K], undefined>> }

/** The titles of objects in a question, by their names: each is a component of the OpenAPI document. */
const TITLES: Readonly<Record<string, string>> = {
  passengers: 'Passengers',
  residents: 'PassengerCounts',
  nonResidents: 'PassengerCounts',
}

interface PathField {
  readonly path: readonly string[]
}

interface ShapeArgs<F extends PathField> {
  /** The members at this depth of the paths. */
  readonly depth: number
  readonly title: (name: string) => string
  readonly leaf: (field: F) => TSchema
  /** Whether a member, which has these fields, may be missing. */
  readonly mayLack: (fields: readonly F[], depth: number) => boolean
  /** What becomes of the schema of an object; it stays if this is unset. */
  readonly group?: (
    schema: TSchema,
    at: { readonly name: string; readonly depth: number },
  ) => TSchema
}

/** The members of JSON at the paths of these fields, as schemas. */
export function membersOf<F extends PathField>(
  fields: readonly F[],
  args: ShapeArgs<F>,
): Readonly<Record<string, TSchema>> {
  const { depth, title, leaf, mayLack, group = (schema) => schema } = args
  const members = Map.groupBy(fields, ({ path }) => path[depth] ?? '')
  const shapes = [...members].map(([name, own]) => {
    const [first] = own
    const isLeaf = first?.path.length === depth + 1
    const inner = () =>
      group(object(membersOf(own, { ...args, depth: depth + 1 }), { title: title(name) }), {
        name,
        depth,
      })
    const schema = isLeaf && first !== undefined ? leaf(first) : inner()
    return [name, mayLack(own, depth) ? Type.Optional(schema) : schema] as const
  })
  return Object.fromEntries(shapes)
}

/** The members of a question in an answer or a record. */
export const QUESTION_MEMBERS = membersOf<QuestionField>(QUESTION_FIELDS, {
  depth: 0,
  title: (name) => TITLES[name] ?? name,
  leaf: ({ schema, default: absent }) => {
    const { type, enum: values } = schema
    const shape = Type.Unsafe<unknown>(values === undefined ? { type } : { type, enum: values })
    return absent === null ? orNull(shape) : shape
  },
  mayLack: () => false,
}) as Members<Question>

/**
 * The terms of a question in a request. What it leaves out has its default, or stays as it is. The schema checks the types
 * only: a handler reports what breaks a rule, for all rows at once.
 */
export const TERM_INPUTS = membersOf<QuestionField>(TERM_FIELDS, {
  depth: 0,
  title: (name) => `${TITLES[name] ?? name}Input`,
  leaf: (field) => {
    const description = `${valuesText(field)}; missing: ${field.default}.`
    return Type.Unsafe<unknown>({ type: field.schema.type, description })
  },
  mayLack: () => true,
}) as {
  [K in keyof TermInputs]: TOptional<TermInputs[K]>
}

type TermInputs = Members<Omit<QuestionInput, 'flightId' | 'returnFlightId'>>
