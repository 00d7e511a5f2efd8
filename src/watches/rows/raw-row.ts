/** The columns of a watch list, in the order of an export. */
export const COLUMNS = [
  'list',
  'reference',
  'flight_id',
  'return_flight_id',
  'residents_adults',
  'residents_children',
  'residents_infants',
  'non_residents_adults',
  'non_residents_children',
  'non_residents_infants',
  'price_threshold_amount',
  'price_threshold_percent',
  'departs_on',
  'min_interval_seconds',
  'priority',
  'max_delay_seconds',
] as const

export type Column = (typeof COLUMNS)[number]

/** The columns that every file must have and every row must fill. */
export const REQUIRED_COLUMNS = [
  'list',
  'reference',
  'flight_id',
  'residents_adults',
  'non_residents_adults',
] as const satisfies readonly Column[]

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
