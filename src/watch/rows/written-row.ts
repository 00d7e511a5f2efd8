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
] as const

export type Column = (typeof COLUMNS)[number]

/** The columns that every file has and every row fills. */
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

/** What is wrong with one cell. */
export interface Fault {
  /** The column, or what stands in its place: a name that we do not know, or several columns of one rule. */
  readonly column: string
  /** Follows the column in a message: `must be …`. */
  readonly says: string
}

/** One row as a file holds it: texts, not read yet. */
export interface WrittenRow {
  /** The row's first line in its file, 1-based. */
  readonly line: number
  /** A column that is not there is empty. */
  readonly cells: Readonly<Partial<Record<Column, string>>>
  /** What its form alone shows to be wrong: columns that we do not know, values that are no single text. */
  readonly faults: readonly Fault[]
}

export interface WrongRow {
  readonly line: number
  readonly faults: readonly Fault[]
}

/** Where rows come from. It is read once an attempt: a transaction that Postgres gave up reads it again. */
export interface RowSource {
  /** What messages call it. */
  readonly name: string
  read(): AsyncIterable<readonly WrittenRow[]>
}
