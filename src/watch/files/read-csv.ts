import { Readable } from 'node:stream'
import { CsvError, parse } from 'csv-parse'
import { quote } from '../../base/text.ts'
import { unescapeFormula } from '../rows/formula-cells.ts'
import { MalformedWatchFileError } from '../rows/watch-errors.ts'
import {
  COLUMNS,
  type Column,
  type Fault,
  isColumn,
  REQUIRED_COLUMNS,
  type WrittenRow,
} from '../rows/written-row.ts'
import { readTextBlocks } from './read-text-blocks.ts'

const BATCH_ROWS = 1_000
/** A quote that is never closed would otherwise swallow the rest of the file. */
const MAX_ROW_BYTES = 65_536

interface CsvRecord {
  readonly record: readonly string[]
  /** The line on which the record ends. */
  readonly info: { readonly lines: number }
}

/** Streams the rows of a CSV file with a header; memory holds a batch. */
export async function* readCsv(file: string): AsyncGenerator<WrittenRow[]> {
  let header: readonly Column[] | undefined
  let batch: WrittenRow[] = []
  for await (const { record, info } of readRecords(file)) {
    if (header === undefined) {
      header = readHeader(file, record)
      continue
    }
    if (record.every((cell) => cell === '')) continue
    batch.push(rowOf(header, record, info.lines))
    if (batch.length === BATCH_ROWS) {
      yield batch
      batch = []
    }
  }
  if (header === undefined) throw new MalformedWatchFileError(file, 1, 'there is no header')
  if (batch.length > 0) yield batch
}

async function* readRecords(file: string): AsyncGenerator<CsvRecord> {
  const text = Readable.from(readTextBlocks(file))
  const parser = parse({
    info: true,
    record_delimiter: '\n',
    relax_column_count: true,
    skip_empty_lines: true,
    trim: true,
    max_record_size: MAX_ROW_BYTES,
  })
  // `pipe` tells the parser of the text's end, but not of its failure.
  text.on('error', (err) => parser.destroy(err))
  try {
    for await (const record of text.pipe(parser)) yield record as CsvRecord
  } catch (err) {
    if (!(err instanceof CsvError)) throw err
    throw new MalformedWatchFileError(file, lineOf(err), csvFault(err), { cause: err })
  } finally {
    text.destroy()
  }
}

function lineOf(err: CsvError): number {
  return typeof err.lines === 'number' ? err.lines : 1
}

function csvFault({ code, message }: CsvError): string {
  if (code === 'CSV_QUOTE_NOT_CLOSED') return 'a quote is opened that is never closed'
  if (code === 'CSV_MAX_RECORD_SIZE') {
    return `a row is longer than ${MAX_ROW_BYTES} bytes: is a quote not closed?`
  }
  return message
}

function readHeader(file: string, names: readonly string[]): Column[] {
  const fail = (fault: string): never => {
    throw new MalformedWatchFileError(file, 1, `${fault}; the columns are ${COLUMNS.join(', ')}`)
  }
  const unknown = names.filter((name) => !isColumn(name))
  if (unknown.length > 0) {
    fail(`unknown column${unknown.length > 1 ? 's' : ''} ${unknown.map(quote).join(', ')}`)
  }
  const repeated = names.find((name, index) => names.indexOf(name) !== index)
  if (repeated !== undefined) fail(`the column ${repeated} is there twice`)
  const missing = REQUIRED_COLUMNS.filter((name) => !names.includes(name))
  if (missing.length > 0) {
    fail(`the column${missing.length > 1 ? 's' : ''} ${missing.join(', ')} must be there`)
  }
  return names.filter(isColumn)
}

function rowOf(header: readonly Column[], record: readonly string[], endLine: number): WrittenRow {
  const cells: Partial<Record<Column, string>> = {}
  for (const [index, column] of header.entries()) {
    cells[column] = unescapeFormula(record[index] ?? '')
  }
  const faults: Fault[] = []
  if (record.length !== header.length) {
    const says = `has ${record.length} cells where the header has ${header.length}`
    faults.push({ column: 'the row', says })
  }
  const innerLines = record.reduce((sum, cell) => sum + cell.split('\n').length - 1, 0)
  return { line: endLine - innerLines, cells, faults }
}
