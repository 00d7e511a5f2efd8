import { stat } from 'node:fs/promises'
import path from 'node:path'
import { UnreadableWatchFileError } from '../rows/watch-errors.ts'
import type { RowSource, WrittenRow } from '../rows/written-row.ts'
import { readCsv } from './read-csv.ts'
import { readYaml } from './read-yaml.ts'

const READERS: Readonly<Record<string, (file: string) => AsyncIterable<WrittenRow[]>>> = {
  '.csv': readCsv,
  '.yaml': readYaml,
  '.yml': readYaml,
}

/** A watch list in a file, CSV or YAML by its ending. Throws UnreadableWatchFileError where there is none. */
export async function openWatchFile(file: string): Promise<RowSource> {
  const reader = READERS[path.extname(file).toLowerCase()]
  if (reader === undefined) {
    const endings = Object.keys(READERS).join(', ')
    throw new UnreadableWatchFileError(file, `its name must end in one of ${endings}`)
  }
  const found = await stat(file).catch((err: NodeJS.ErrnoException) => {
    const why = err.code === 'ENOENT' ? 'there is no such file' : err.message
    throw new UnreadableWatchFileError(file, why, { cause: err })
  })
  if (!found.isFile()) throw new UnreadableWatchFileError(file, 'it is not a file')
  return { name: file, read: () => reader(file) }
}

/** Rows that come from no file. Their line is their place among them. */
export function rowsOf(name: string, rows: readonly WrittenRow['cells'][]): RowSource {
  const written = rows.map((cells, index) => ({ line: index + 1, cells, faults: [] }))
  return { name, read: () => inOneBatch(written) }
}

async function* inOneBatch(rows: readonly WrittenRow[]): AsyncGenerator<readonly WrittenRow[]> {
  yield rows
}
