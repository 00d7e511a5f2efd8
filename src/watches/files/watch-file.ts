import { stat } from 'node:fs/promises'
import path from 'node:path'
import { stringify as csvText } from 'csv-stringify/sync'
import { stringify as yamlText } from 'yaml'
import {
  type CellValues,
  COLUMNS,
  escapeFormula,
  type RawRow,
  type RowSource,
} from '../rows/watch-row.ts'
import { readCsv } from './read-csv.ts'
import { type TextSource, textOfFile, UnreadableWatchFileError } from './read-text-blocks.ts'
import { readYaml } from './read-yaml.ts'

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

export type WatchFormat = 'csv' | 'yaml'

/** Yields the text of a file with these rows, one page at a time. */
export async function* writeRows(
  pages: AsyncIterable<readonly CellValues[]> | Iterable<readonly CellValues[]>,
  format: WatchFormat,
): AsyncGenerator<string> {
  if (format === 'csv') yield csvText([COLUMNS])
  let empty = true
  for await (const page of pages) {
    if (page.length === 0) continue
    empty = false
    yield format === 'csv' ? csvPage(page) : yamlPage(page)
  }
  if (empty && format === 'yaml') yield '[]\n'
}

function csvPage(rows: readonly CellValues[]): string {
  return csvText(
    rows.map((cells) =>
      COLUMNS.map((column) => {
        const value = cells[column]
        return typeof value === 'string' ? escapeFormula(value) : value?.toString()
      }),
    ),
  )
}

/** Leaves out missing values, so that entries stay readable. */
function yamlPage(rows: readonly CellValues[]): string {
  const present = rows.map((cells) =>
    Object.fromEntries(Object.entries(cells).filter(([, value]) => value !== null)),
  )
  return yamlText(present, { lineWidth: 0 })
}
