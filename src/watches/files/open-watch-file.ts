import { stat } from 'node:fs/promises'
import path from 'node:path'
import type { RawRow, RowSource } from '../rows/raw-row.ts'
import { UnreadableWatchFileError } from '../rows/watch-errors.ts'
import { readCsv } from './read-csv.ts'
import { type TextSource, textOfFile } from './read-text-blocks.ts'
import { readYaml } from './read-yaml.ts'

const ROWS_AT_A_TIME = 500

const READERS: Readonly<Record<string, (source: TextSource) => AsyncIterable<RawRow[]>>> = {
  '.csv': readCsv,
  '.yaml': readYaml,
  '.yml': readYaml,
}

/** Opens a watch list file, CSV or YAML by its extension. Throws UnreadableWatchFileError. */
export async function openWatchFile(file: string): Promise<RowSource> {
  const reader = READERS[path.extname(file).toLowerCase()]
  if (reader === undefined) {
    const extensions = Object.keys(READERS).join(', ')
    throw new UnreadableWatchFileError(file, `its name must end in one of ${extensions}`)
  }
  const found = await stat(file).catch((err: NodeJS.ErrnoException) => {
    const why = err.code === 'ENOENT' ? 'the file does not exist' : err.message
    throw new UnreadableWatchFileError(file, why, { cause: err })
  })
  if (!found.isFile()) throw new UnreadableWatchFileError(file, 'it is not a file')
  return { name: file, read: () => reader(textOfFile(file)) }
}

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
