import { cleanText } from '../../base/text.ts'
import {
  addCounts,
  NO_COUNTS,
  type Route,
  type RouteListBody,
  type RouteListCounts,
} from '../route-list.ts'
import { RouteChecker } from './check-route.ts'
import { breachOfCsv, CSV_LIMITS, type CsvLimits, csvTooLarge, readCsvRows } from './csv-rows.ts'
import { CSV_ENDPOINT, type CsvElement, type Delimiter, rowReaderOf } from './routes-csv.ts'

/** Some neighbouring rows; the first slice comes even where there is nothing but a header. */
export interface CsvSlice {
  /** Of the header, cleaned. */
  readonly columns: readonly string[]
  readonly delimiter: Delimiter
  /** How many rows there are in this slice. */
  readonly rows: number
  /** The rows as routes; null where the columns do not say how to read them. */
  readonly routes: Route[] | null
  readonly counts: CsvCounts
}

/** What was odd in the CSV without being wrong enough to reject it. */
export interface CsvCounts extends RouteListCounts {
  /** Rows that have more or fewer fields than the header; where there are routes, none has. */
  readonly raggedRows: number
  /** 1 where the columns do not say how to read the rows as routes. */
  readonly unrecognisedColumns: number
}

const NO_CSV_COUNTS: CsvCounts = { ...NO_COUNTS, raggedRows: 0, unrecognisedColumns: 0 }

export function addCsvCounts(a: CsvCounts, b: CsvCounts): CsvCounts {
  return {
    ...addCounts(a, b),
    raggedRows: a.raggedRows + b.raggedRows,
    unrecognisedColumns: a.unrecognisedColumns + b.unrecognisedColumns,
  }
}

const MAX_COLUMN_CHARS = 100

/**
 * Reads the routes that came as CSV, slice by slice, giving way to the event loop between them.
 *
 * The first row is the header; the delimiter is the one that it has most of; a byte order mark is skipped, and so
 * are blank lines. Where the header names both ids (see `rowReaderOf`) every row is checked as an element of the
 * JSON list would be, and must have as many fields as the header.
 *
 * Throws UpstreamContractError and UpstreamTooLargeError, whose messages hold no text of the body.
 */
export async function* readRoutesCsv(
  body: Pick<RouteListBody, 'chunks' | 'onRead'>,
  limits: Partial<CsvLimits> = {},
): AsyncGenerator<CsvSlice, void> {
  let counts: CsvCounts = NO_CSV_COUNTS
  try {
    for await (const slice of readSlices(body.chunks, limits)) {
      counts = addCsvCounts(counts, slice.counts)
      yield slice
    }
  } catch (err) {
    body.onRead?.(counts, err)
    throw err
  }
  body.onRead?.(counts)
}

async function* readSlices(
  chunks: readonly Uint8Array[],
  limits: Partial<CsvLimits>,
): AsyncGenerator<CsvSlice, void> {
  const caps = { ...CSV_LIMITS, ...limits }
  let reader: SliceReader | undefined
  for await (const { rows, delimiter } of readCsvRows(chunks, caps)) {
    if (reader === undefined) {
      const [header = []] = rows.splice(0, 1)
      reader = new SliceReader(header, delimiter)
    }
    if (reader.rowsBefore + rows.length > caps.maxRows) {
      throw csvTooLarge(`the list is over ${caps.maxRows} rows`)
    }
    if (rows.length > 0) yield reader.read(rows)
  }
  if (reader === undefined) throw breachOfCsv('there is no header row')
  if (reader.rowsBefore === 0) yield reader.read([])
}

class SliceReader {
  readonly #columns: readonly string[]
  readonly #delimiter: Delimiter
  readonly #rowReader: ReturnType<typeof rowReaderOf>
  readonly #checker = new RouteChecker(CSV_ENDPOINT)
  rowsBefore = 0

  constructor(header: readonly string[], delimiter: Delimiter) {
    this.#columns = header.map((name) => cleanText(name.trim(), MAX_COLUMN_CHARS))
    this.#delimiter = delimiter
    this.#rowReader = rowReaderOf(this.#columns)
  }

  read(rows: readonly string[][]): CsvSlice {
    const ragged = rows.filter((row) => row.length !== this.#columns.length)
    const known = this.#rowReader
    if (known !== null && ragged[0] !== undefined) {
      const at = this.rowsBefore + rows.indexOf(ragged[0] as string[])
      const columns = `where the header has ${this.#columns.length}`
      throw breachOfCsv(`row ${at} has ${ragged[0].length} fields ${columns}`)
    }
    const first = this.rowsBefore
    this.rowsBefore += rows.length
    const slice = { columns: this.#columns, delimiter: this.#delimiter, rows: rows.length }
    // What is odd about the columns is told once, not once a slice.
    const once = first === 0 ? 1 : 0
    if (known === null) {
      const counts = { ...NO_CSV_COUNTS, raggedRows: ragged.length, unrecognisedColumns: once }
      return { ...slice, routes: null, counts }
    }
    const { routes, counts } = this.#check(rows.map(known.read), first)
    const unused = { ...NO_CSV_COUNTS, unknownFields: once * known.unused }
    return { ...slice, routes, counts: addCsvCounts({ ...NO_CSV_COUNTS, ...counts }, unused) }
  }

  #check(elements: readonly CsvElement[], first: number) {
    const checked = this.#checker.check(elements, first)
    // Only a number can lose digits, and here all is text.
    if (checked === undefined) throw new Error('text has lost digits')
    return checked
  }
}
