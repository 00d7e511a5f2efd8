import { stringify } from 'csv-stringify/sync'
import type { ColumnKind, QueryResult } from '../../db/run-analyst-query.ts'
import { UsageError } from '../usage-error.ts'
import { table } from './text-format.ts'

/** A table for people, unless told. */
export interface AnswerFormat {
  readonly csv?: boolean
  readonly json?: boolean
}

/** The answer of `farewatch sql`, to the end of its last line. Throws UsageError where JSON would lose a column. */
export function answerText({ columns, rows }: QueryResult, { csv, json }: AnswerFormat): string {
  const names = columns.map(({ name }) => name)
  if (csv === true) return stringify([names, ...rows])
  if (json !== true) return `${table(names, rows)}\n`
  refuseTwice(names)
  const kinds = columns.map(({ name, kind }) => ({ key: JSON.stringify(name), kind }))
  return rows
    .map(
      (row) => `{${kinds.map(({ key, kind }, i) => `${key}:${jsonText(kind, row[i] ?? null)}`)}}\n`,
    )
    .join('')
}

/** Of two values under one key a reader of JSON keeps one, and says nothing. */
function refuseTwice(names: readonly string[]): void {
  const twice = names.find((name, i) => names.indexOf(name) < i)
  if (twice === undefined) return
  throw new UsageError(
    `two columns are named "${twice}": with --json each needs a name of its own (as …)`,
  )
}

/**
 * One value as JSON: exactly what Postgres wrote, or a string of it where JSON's readers would not keep it, as of
 * `int8` beyond 2^53 and NaN.
 * @example jsonText('number', '9007199254740993') // '"9007199254740993"'
 */
function jsonText(kind: ColumnKind, value: string | null): string {
  if (value === null) return 'null'
  if (kind === 'boolean') return value === 't' ? 'true' : 'false'
  // Not parsed: its numbers may be longer than ours. Line ends can only stand between its tokens.
  if (kind === 'json') return value.replace(/[\r\n]/g, ' ')
  const number = Number(value)
  const kept = /^-?\d+$/.test(value) ? Number.isSafeInteger(number) : Number.isFinite(number)
  return kind === 'number' && kept ? value : JSON.stringify(value)
}
