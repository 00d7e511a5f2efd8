import { Readable } from 'node:stream'
import { CsvError, parse } from 'csv-parse'
import { quote } from '../../platform/base/text.ts'
import {
  COLUMNS,
  type Column,
  isColumn,
  neededByRoutes,
  type RawRow,
  REQUIRED_COLUMNS,
  ROWS_AT_A_TIME,
  type RowError,
  unescapeFormula,
} from '../rows/watch-row.ts'
import { MalformedWatchFileError, readTextBlocks, type TextSource } from './read-text-blocks.ts'

/** Without a limit, a quote that is never closed makes the rest of the file one cell. */
const MAX_ROW_BYTES = 65_536

interface CsvRecord {
  readonly record: readonly string[]
  /** The line on which the record ends. */
  readonly info: { readonly lines: number }
}

/** Streams the rows of a CSV file with a header, separated as the header is. Only one batch is in memory. */
export async function* readCsv(
  source: TextSource,
  required: readonly Column[] = REQUIRED_COLUMNS,
): AsyncGenerator<RawRow[]> {
  const file = source.name
  let header: readonly Column[] | undefined
  let flights = 0
  let batch: RawRow[] = []
  for await (const { record, info } of readRecords(source)) {
    // A spreadsheet writes as many cells in each line as its widest one has.
    const cells = record.slice(0, record.findLastIndex((cell) => cell !== '') + 1)
    if (cells.length === 0) continue
    if (header === undefined && SEPARATOR.test(cells.join(''))) continue
    if (header === undefined) header = readHeader(file, cells, required)
    else {
      const row = rowOf(header, cells, info.lines)
      if (!row.cells.departure?.trim()) flights += 1
      batch.push(row)
    }
    if (batch.length === ROWS_AT_A_TIME) {
      yield batch
      batch = []
    }
  }
  if (header === undefined) throw new MalformedWatchFileError(file, 1, 'the header is missing')
  if (batch.length > 0) yield batch
  if (flights > 0) assertColumns(file, header, { required, rows: flights })
}

/** A spreadsheet program writes semicolons where the decimal sign is a comma. No name of a column holds either. */
const DELIMITERS = [';', '\t']
/** The first line that some spreadsheets write. */
const SEPARATOR = /^sep=([,;\t|]?)$/i

function delimiterOf(header: string): string {
  const [, named] = SEPARATOR.exec(header.slice(0, 'sep=;'.length)) ?? []
  if (named) return named
  return DELIMITERS.find((one) => header.includes(one) && !header.includes(',')) ?? ','
}

async function* readRecords(source: TextSource): AsyncGenerator<CsvRecord> {
  const text = Readable.from(readTextBlocks(source))
  const parser = parse({
    info: true,
    delimiter: delimiterOf(await firstLine(source)),
    record_delimiter: '\n',
    relax_column_count: true,
    skip_empty_lines: true,
    trim: true,
    max_record_size: MAX_ROW_BYTES,
  })
  // `pipe` passes the end of the text on to the parser, but not an error.
  text.on('error', (err) => parser.destroy(err))
  try {
    for await (const record of text.pipe(parser)) yield record as CsvRecord
  } catch (err) {
    if (!(err instanceof CsvError)) throw err
    throw new MalformedWatchFileError(source.name, lineOf(err), csvErrorText(err), { cause: err })
  } finally {
    text.destroy()
  }
}

/** The first line that is not blank. */
async function firstLine(source: TextSource): Promise<string> {
  for await (const text of readTextBlocks(source)) {
    const line = text.split('\n').find((one) => one.trim() !== '')
    if (line !== undefined) return line
  }
  return ''
}

function lineOf(err: CsvError): number {
  return typeof err.lines === 'number' ? err.lines : 1
}

function csvErrorText({ code, message }: CsvError): string {
  if (code === 'CSV_QUOTE_NOT_CLOSED') return 'a quote is never closed'
  if (code === 'CSV_MAX_RECORD_SIZE') {
    return `a row is longer than ${MAX_ROW_BYTES} bytes: is a quote not closed?`
  }
  return message
}

function readHeader(file: string, cells: readonly string[], required: readonly Column[]): Column[] {
  const names = cells.map((cell) => cell.toLowerCase())
  const fail = (problem: string): never => {
    throw new MalformedWatchFileError(file, 1, `${problem}; the columns are ${COLUMNS.join(', ')}`)
  }
  const unknown = names.filter((name) => !isColumn(name))
  if (unknown.length > 0) {
    fail(`unknown column${unknown.length > 1 ? 's' : ''} ${unknown.map(quote).join(', ')}`)
  }
  const duplicate = names.find((name, index) => names.indexOf(name) !== index)
  if (duplicate !== undefined) fail(`the column ${duplicate} appears twice`)
  const header = names.filter(isColumn)
  // A file of routes alone needs no more. Whether it has a flight, its rows say.
  const needed = names.includes('departure') ? neededByRoutes(required) : required
  assertColumns(file, header, { required: needed })
  return header
}

/** @param rows how many need the columns; unset: all */
function assertColumns(
  file: string,
  header: readonly Column[],
  { required, rows }: { readonly required: readonly Column[]; readonly rows?: number },
): void {
  const missing = required.filter((name) => !header.includes(name))
  if (missing.length === 0) return
  const needed = rows === undefined ? '' : `, needed by rows: ${rows}`
  const problem = `missing in the header: ${missing.join(', ')}${needed}`
  throw new MalformedWatchFileError(file, 1, problem)
}

function rowOf(header: readonly Column[], record: readonly string[], endLine: number): RawRow {
  const cells: Partial<Record<Column, string>> = {}
  for (const [index, column] of header.entries()) {
    cells[column] = unescapeFormula(record[index] ?? '')
  }
  const errors: RowError[] = []
  if (record.length > header.length) {
    const message = `has ${record.length} cells, but the header has ${header.length}`
    errors.push({ column: 'the row', message })
  }
  const innerLines = record.reduce((sum, cell) => sum + cell.split('\n').length - 1, 0)
  return { line: endLine - innerLines, cells, errors }
}
