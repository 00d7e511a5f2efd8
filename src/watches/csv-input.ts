import { setImmediate as otherWork } from 'node:timers/promises'
import { quote } from '../platform/base/text.ts'
import { ProblemError, type ProblemFault } from '../platform/http/problems.ts'
import { readCsv } from './files/read-csv.ts'
import { textOfBytes } from './files/read-text-blocks.ts'
import { checkRows, InvalidRows } from './rows/check-rows.ts'
import { type InvalidRow, type RawRow, REQUIRED_COLUMNS, type RowSource } from './rows/raw-row.ts'
import { MalformedWatchFileError } from './rows/watch-errors.ts'

/** The list is in the path. */
const REQUIRED = REQUIRED_COLUMNS.filter((column) => column !== 'list')

/** Reads a CSV body whose rows all belong to one list. Throws a ProblemError if the body is no CSV of watches. */
export async function readCsvBody(
  body: Buffer,
  { list, maxRows }: { readonly list: string; readonly maxRows: number },
): Promise<RawRow[]> {
  const rows: RawRow[] = []
  try {
    for await (const batch of readCsv(textOfBytes('the body', body), REQUIRED)) {
      for (const row of batch) rows.push(rowOfList(row, list))
      if (rows.length > maxRows) throw invalid('', `must not have more than ${maxRows} rows`)
    }
  } catch (err) {
    if (err instanceof MalformedWatchFileError) throw invalid(`/${err.line}`, err.message)
    throw err
  }
  if (rows.length === 0) throw invalid('', 'the body has no row after its header')
  return rows
}

function rowOfList({ cells, errors, ...row }: RawRow, list: string): RawRow {
  const given = cells.list ?? ''
  const message = `must be ${quote(list)} as in the address, or empty`
  return {
    ...row,
    cells: { ...cells, list },
    errors: given === '' || given === list ? errors : [...errors, { column: 'list', message }],
  }
}

function invalid(pointer: string, detail: string): ProblemError {
  return new ProblemError('request.invalid_body', { pointer, detail })
}

/** The invalid rows of a CSV body. */
export async function invalidRowsOf(source: RowSource): Promise<InvalidRows> {
  const invalid = new InvalidRows()
  // Lets other requests run meanwhile.
  for await (const _ of checkRows(source, invalid)) await otherWork()
  return invalid
}

/** The errors of one row of a CSV body. The pointer is its line and the column. */
export function csvFaultsOf({ line, errors }: InvalidRow): ProblemFault[] {
  return errors.map(({ column, message }) => ({ pointer: `/${line}/${column}`, detail: message }))
}
