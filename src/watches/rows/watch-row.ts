import type { WatchPriority } from '../../platform/base/kinds.ts'
import type { PassengerMix, Question } from '../../upstream/observation.ts'

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

/** A watch entry as the columns of one SQL row. */
export interface FlatEntry {
  readonly list: string
  readonly reference: string
  readonly flightId: string
  readonly returnFlightId: string | null
  readonly residentsAdults: number
  readonly residentsChildren: number
  readonly residentsInfants: number
  readonly nonResidentsAdults: number
  readonly nonResidentsChildren: number
  readonly nonResidentsInfants: number
  readonly priceThresholdAmount: string | null
  readonly priceThresholdPercent: string | null
  readonly departsOn: string | null
  readonly minIntervalSeconds: number | null
  readonly priority: WatchPriority
  readonly maxDelaySeconds: number | null
}

export function entryOf(flat: FlatEntry): WatchEntry {
  const passengers: PassengerMix = {
    residents: {
      adults: flat.residentsAdults,
      children: flat.residentsChildren,
      infants: flat.residentsInfants,
    },
    nonResidents: {
      adults: flat.nonResidentsAdults,
      children: flat.nonResidentsChildren,
      infants: flat.nonResidentsInfants,
    },
  }
  return {
    list: flat.list,
    reference: flat.reference,
    question: { flightId: flat.flightId, returnFlightId: flat.returnFlightId, passengers },
    priceThresholdAmount: flat.priceThresholdAmount,
    priceThresholdPercent: flat.priceThresholdPercent,
    departsOn: flat.departsOn,
    minIntervalSeconds: flat.minIntervalSeconds,
    priority: flat.priority,
    maxDelaySeconds: flat.maxDelaySeconds,
  }
}

/** The entry as the cells of a file. Missing values are null; counts are always written. */
export function cellsOf(entry: WatchEntry): Record<Column, string | number | null> {
  const { flightId, returnFlightId, passengers } = entry.question
  const { residents, nonResidents } = passengers
  return {
    list: entry.list,
    reference: entry.reference,
    flight_id: flightId,
    return_flight_id: returnFlightId,
    residents_adults: residents.adults,
    residents_children: residents.children,
    residents_infants: residents.infants,
    non_residents_adults: nonResidents.adults,
    non_residents_children: nonResidents.children,
    non_residents_infants: nonResidents.infants,
    price_threshold_amount: entry.priceThresholdAmount,
    price_threshold_percent: entry.priceThresholdPercent,
    departs_on: entry.departsOn,
    min_interval_seconds: entry.minIntervalSeconds,
    priority: entry.priority,
    max_delay_seconds: entry.maxDelaySeconds,
  }
}
