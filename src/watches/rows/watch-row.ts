import type { WatchPriority } from '../../platform/base/kinds.ts'
import { QUESTION_FIELDS, type Question, type QuestionColumn } from '../../upstream/question.ts'

const QUESTION_PLACES = Object.fromEntries(
  QUESTION_FIELDS.map(({ column, path }) => [column, `/${path.join('/')}`]),
) as Readonly<Record<QuestionColumn, string>>

/** Where a watch of a request or an answer has each column, as a JSON pointer. In the order of an export. */
export const PLACES = {
  list: '/list',
  reference: '/reference',
  ...QUESTION_PLACES,
  price_threshold_amount: '/priceThresholdAmount',
  price_threshold_percent: '/priceThresholdPercent',
  departs_on: '/departsOn',
  min_interval_seconds: '/minIntervalSeconds',
  priority: '/priority',
  max_delay_seconds: '/maxDelaySeconds',
} as const

export type Column = keyof typeof PLACES

/** The columns of a watch list. */
export const COLUMNS = Object.keys(PLACES) as readonly Column[]

/** The columns that every file must have and every row must fill. */
export const REQUIRED_COLUMNS: readonly Column[] = [
  'list',
  'reference',
  ...QUESTION_FIELDS.filter(({ required }) => required).map(({ column }) => column),
]

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

const ROWS_AT_A_TIME = 500

/** Rows that do not come from a file. The line of a row is its number. */
export function rowsOf(name: string, rows: readonly RawRow['cells'][]): RowSource {
  return sourceOf(
    name,
    rows.map((cells, index) => ({ line: index + 1, cells, errors: [] })),
  )
}

/** Rows that have been read already. */
export function sourceOf(name: string, rows: readonly RawRow[]): RowSource {
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
export interface WatchEntry {
  readonly list: string
  /** The reseller's name for the watch, unique within the list. */
  readonly reference: string
  readonly question: Question
  /** Decimal text without superfluous zeros. If null, the reseller is notified of every change of the price. */
  readonly priceThresholdAmount: string | null
  readonly priceThresholdPercent: string | null
  /** `YYYY-MM-DD`; null if the reseller did not give it. */
  readonly departsOn: string | null
  readonly minIntervalSeconds: number | null
  readonly priority: WatchPriority
  /** The longest expected interval between two checks; null if the reseller set none. */
  readonly maxDelaySeconds: number | null
}

type CellValues = Record<Column, string | number | null>

/** The entry as the cells of a file. Missing values are null; counts are always written. */
export function cellsOf({ question, ...settings }: WatchEntry): CellValues {
  return cellsAt({ ...settings, ...question })
}

/** The value at the place of each column; null where there is none. */
export function cellsAt(watch: object): CellValues {
  return Object.fromEntries(
    COLUMNS.map((column) => [column, valueAt(watch, PLACES[column]) ?? null]),
  ) as CellValues
}

function valueAt(watch: object, place: string): unknown {
  const names = place.split('/').slice(1)
  return names.reduce<unknown>(
    (at, name) => (at as Record<string, unknown> | undefined)?.[name],
    watch,
  )
}
