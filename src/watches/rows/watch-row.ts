import {
  type FieldValue,
  fieldValue,
  QUESTION_FIELDS,
  type Question,
} from '../../upstream/question.ts'
import { SETTING_FIELDS, type WatchSettings } from './settings.ts'

/** Where a watch of a request or an answer has each column. In the order of an export. */
const FIELDS = [
  { column: 'list', path: ['list'] },
  { column: 'reference', path: ['reference'] },
  ...QUESTION_FIELDS,
  ...SETTING_FIELDS,
] as const

export type Column = (typeof FIELDS)[number]['column']

/** The columns of a watch list. */
export const COLUMNS: readonly Column[] = FIELDS.map(({ column }) => column)

/** The places as JSON pointers. */
export const PLACES = Object.fromEntries(
  FIELDS.map(({ column, path }) => [column, `/${path.join('/')}`]),
) as Readonly<Record<Column, string>>

const NAMES: readonly Column[] = ['list', 'reference']
/** The columns that every row of a fare must fill, and every file must have that has no routes. */
export const REQUIRED_COLUMNS: readonly Column[] = [
  ...NAMES,
  ...QUESTION_FIELDS.filter(({ required }) => required).map(({ column }) => column),
]

/** Of these columns those that a watch of a route needs too. */
export function neededByRoutes(columns: readonly Column[]): readonly Column[] {
  return columns.filter((column) => NAMES.includes(column))
}

export function isColumn(name: string): name is Column {
  return (COLUMNS as readonly string[]).includes(name)
}

/** An error in one cell. */
export interface RowError {
  /** The column, an unknown name in its place, or the columns of a rule that is about several. */
  readonly column: string
  /** Follows the column in a sentence: `must be …`. */
  readonly message: string
  /** The line of the cell, if it is not the row's. */
  readonly line?: number | undefined
}

/** A row of a file, as text. */
export interface RawRow {
  /** The row's first line in its file, 1-based. */
  readonly line: number
  /** A missing column is empty. */
  readonly cells: Readonly<Partial<Record<Column, string>>>
  /** The lines of cells, in files that have a line for each. */
  readonly cellLines?: Readonly<Partial<Record<Column, number>>>
  /** Errors of form: unknown columns, and values that are not a single text. */
  readonly errors: readonly RowError[]
}

export interface InvalidRow {
  readonly line: number
  readonly errors: readonly RowError[]
}

/** The source of rows. A transaction that Postgres aborts and that runs again reads it again. */
export interface RowSource {
  /** Its name in messages. */
  readonly name: string
  read(): AsyncIterable<readonly RawRow[]>
}

/** Other requests wait for so many: a thousand of a file took a tenth of a second. */
export const ROWS_AT_A_TIME = 200

/** Rows that do not come from a file. The line of a row is its number. */
export function rowsOf(name: string, cells: readonly RawRow['cells'][]): RowSource {
  const rows = cells.map((ofRow, index) => ({ line: index + 1, cells: ofRow, errors: [] }))
  return { name, read: () => inBatches(rows) }
}

/** Other requests run between two batches. */
async function* inBatches(rows: readonly RawRow[]): AsyncGenerator<readonly RawRow[]> {
  for (let from = 0; from < rows.length; from += ROWS_AT_A_TIME) {
    yield rows.slice(from, from + ROWS_AT_A_TIME)
  }
}

/**
 * A spreadsheet runs a cell that begins like a formula. In CSV such a text is written behind an apostrophe, which
 * spreadsheets hide and reading removes. A text that begins with an apostrophe gets a second one, so that it is read
 * back as it was.
 */
const FORMULA = /^[=+\-@＝＋－＠']/
const ESCAPED = /^'(?=[=+\-@＝＋－＠'])/

export function escapeFormula(text: string): string {
  return FORMULA.test(text) ? `'${text}` : text
}

export function unescapeFormula(text: string): string {
  return text.replace(ESCAPED, '')
}

/** A row of a watch list in canonical form: two rows with the same meaning are equal. */
export interface WatchEntry extends WatchSettings {
  readonly list: string
  /** The reseller's name for the watch, unique within the list. */
  readonly reference: string
  /** Null in a watch of a route. */
  readonly question: Question | null
}

/** The cells of a row, by their columns. Missing values are null. */
export type CellValues = Record<Column, FieldValue>

/** The entry as the cells of a file. Missing values are null; counts are always written. */
export function cellsOf({ question, ...settings }: WatchEntry): CellValues {
  return cellsAt({ ...settings, ...question })
}

/** The value at the place of each column; null where there is none. */
export function cellsAt(watch: object): CellValues {
  return Object.fromEntries(
    FIELDS.map((field) => [field.column, fieldValue(watch, field) ?? null]),
  ) as CellValues
}
