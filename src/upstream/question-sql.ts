import { type AliasedRawBuilder, type RawBuilder, sql } from '../platform/db/database.ts'
import {
  fieldValue,
  QUESTION_FIELDS,
  type Question,
  type QuestionField,
  TERM_FIELDS,
} from './question.ts'

/** The columns of the fields, of a table or alias if one is given. */
export function questionColumns(
  of?: string,
  fields: readonly QuestionField[] = QUESTION_FIELDS,
): RawBuilder<unknown> {
  return sql.join(
    fields.map(({ column }) => sql.ref(of === undefined ? column : `${of}.${column}`)),
  )
}

/** The columns of the terms. */
export const TERM_COLUMNS = questionColumns(undefined, TERM_FIELDS)

/** Whether tracked fare `f` asks the question. */
export function asks(question: Question): RawBuilder<boolean> {
  const equal = QUESTION_FIELDS.map((field) => {
    const value = fieldValue(question, field)
    const column = sql.ref(`f.${field.column}`)
    return value === null ? sql`${column} is null` : sql`${column} = ${value}`
  })
  return sql<boolean>`(${sql.join(equal, sql` and `)})`
}

function jsonOf(fields: readonly QuestionField[], depth: number): RawBuilder<unknown> {
  const [first] = fields
  if (fields.length === 1 && first?.path.length === depth) return sql.ref(`f.${first.column}`)
  const members = Map.groupBy(fields, ({ path }) => path[depth] ?? '')
  const pairs = [...members].map(([name, own]) => sql`${sql.lit(name)}, ${jsonOf(own, depth + 1)}`)
  return sql`json_build_object(${sql.join(pairs)})`
}

/** The question of tracked fare `f`. */
export const QUESTION = jsonOf(QUESTION_FIELDS, 0) as RawBuilder<Question>

/** Its members, each as a column. */
export const QUESTION_SELECTION = [
  ...Map.groupBy(QUESTION_FIELDS as readonly QuestionField[], ({ path }) => path[0] ?? ''),
].map(([name, fields]) =>
  (jsonOf(fields, 1) as RawBuilder<Question[keyof Question]>).as(name as keyof Question),
) as unknown as QuestionSelection[]

type QuestionSelection = {
  [K in keyof Question]: AliasedRawBuilder<Question[K], K>
}[keyof Question]
