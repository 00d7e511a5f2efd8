import { quote } from '../../base/text.ts'
import { type CheckedRow, checkRow } from './check-row.ts'
import type { WatchEntry } from './watch-entry.ts'
import type { RowSource, WrittenRow, WrongRow } from './written-row.ts'

/** How many wrong rows are told one by one. */
const SHOWN_ROWS = 50

export interface NumberedEntry {
  readonly line: number
  readonly entry: WatchEntry
}

/** The wrong rows of a file: the first of them, and how many there are. */
export class WrongRows {
  readonly rows: WrongRow[] = []
  count = 0

  add(row: WrongRow): void {
    this.count += 1
    if (this.rows.length < SHOWN_ROWS) this.rows.push(row)
  }
}

/** Gives a file's right rows in batches, and notes its wrong ones in `wrong`. */
export async function* checkRows(
  source: RowSource,
  wrong: WrongRows,
): AsyncGenerator<NumberedEntry[]> {
  const findRepeated = createRepeatFinder()
  for await (const batch of source.read()) {
    const entries: NumberedEntry[] = []
    for (const row of batch) {
      const checked = noteRepeated(checkRow(row), findRepeated(row))
      if ('faults' in checked) wrong.add(checked)
      else entries.push(checked)
    }
    if (entries.length > 0) yield entries
  }
}

function noteRepeated(row: CheckedRow, says: string | undefined): CheckedRow {
  if (says === undefined) return row
  const faults = 'faults' in row ? row.faults : []
  return { line: row.line, faults: [...faults, { column: 'reference', says }] }
}

/**
 * Which of two rows of one name is meant, nobody can tell: the second one is wrong, even where the first one is
 * too. A name a row is kept in memory: some 100 bytes.
 */
function createRepeatFinder(): (row: WrittenRow) => string | undefined {
  const lines = new Map<string, number>()
  return ({ line, cells: { list = '', reference = '' } }) => {
    if (list === '' || reference === '') return undefined
    // Neither of the two holds the separator: it is a character that no name may have.
    const key = `${list}\0${reference}`
    const first = lines.get(key)
    if (first === undefined) {
      lines.set(key, line)
      return undefined
    }
    return `${quote(reference)} is in the list ${quote(list)} already, on line ${first}`
  }
}
