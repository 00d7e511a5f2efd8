import { quote } from '../../base/text.ts'
import { type CheckedRow, checkRow } from './check-row.ts'
import type { InvalidRow, RawRow, RowSource } from './raw-row.ts'
import type { WatchEntry } from './watch-entry.ts'

/** How many invalid rows are reported one by one. */
const SHOWN_ROWS = 50

export interface NumberedEntry {
  readonly line: number
  readonly entry: WatchEntry
}

/** The first invalid rows of a file, and how many there are. */
export class InvalidRows {
  readonly rows: InvalidRow[] = []
  count = 0

  add(row: InvalidRow): void {
    this.count += 1
    if (this.rows.length < SHOWN_ROWS) this.rows.push(row)
  }
}

/** Yields the valid rows of a file in batches, and adds the invalid ones to `invalid`. */
export async function* checkRows(
  source: RowSource,
  invalid: InvalidRows,
): AsyncGenerator<NumberedEntry[]> {
  const findDuplicate = createDuplicateFinder()
  for await (const batch of source.read()) {
    const entries: NumberedEntry[] = []
    for (const row of batch) {
      const checked = withDuplicate(checkRow(row), findDuplicate(row))
      if ('errors' in checked) invalid.add(checked)
      else entries.push(checked)
    }
    if (entries.length > 0) yield entries
  }
}

function withDuplicate(row: CheckedRow, message: string | undefined): CheckedRow {
  if (message === undefined) return row
  const errors = 'errors' in row ? row.errors : []
  return { line: row.line, errors: [...errors, { column: 'reference', message }] }
}

/**
 * Finds the second row with the same list and reference: it is invalid, even if the first one is invalid too. Keeps one
 * name for each row in memory, about 100 bytes.
 */
function createDuplicateFinder(): (row: RawRow) => string | undefined {
  const lines = new Map<string, number>()
  return ({ line, cells: { list = '', reference = '' } }) => {
    if (list === '' || reference === '') return undefined
    // No name may contain the separator.
    const key = `${list}\0${reference}`
    const first = lines.get(key)
    if (first === undefined) {
      lines.set(key, line)
      return undefined
    }
    return `${quote(reference)} is already in the list ${quote(list)}, on line ${first}`
  }
}
