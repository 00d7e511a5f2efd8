import { stat } from 'node:fs/promises'
import path from 'node:path'
import { stringify as csvText } from 'csv-stringify/sync'
import { stringify as yamlText } from 'yaml'
import type { Db, Tx } from '../../platform/db/database.ts'
import {
  COLUMNS,
  cellsOf,
  escapeFormula,
  type RawRow,
  type RowSource,
  type WatchEntry,
} from '../rows/watch-row.ts'
import { listWatches, requireWatchList, type Watch, type WatchPosition } from '../watch-lists.ts'
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

interface ExportArgs {
  readonly resellerId: number
  /** Export only this list. */
  readonly list?: string | undefined
  readonly format: WatchFormat
  /** Default: all watches of the list. */
  readonly readWatches?: ((tx: Tx) => AsyncIterable<readonly Watch[]>) | undefined
}

const PAGE_ROWS = 5_000

/**
 * Yields the text of a reseller's watches as a file, by list and reference, one page at a time, from one snapshot
 * of the database. An import of the file changes nothing. Throws UnknownWatchListError.
 */
export async function* exportWatchList(db: Db, args: ExportArgs): AsyncGenerator<string> {
  const tx = await db
    .startTransaction()
    .setIsolationLevel('repeatable read')
    .setAccessMode('read only')
    .execute()
  try {
    if (args.list !== undefined) {
      await requireWatchList({ db: tx, resellerId: args.resellerId }, args.list)
    }
    const watches = args.readWatches?.(tx) ?? readAll(tx, args)
    yield* writeEntries(entriesOf(watches), args.format)
  } finally {
    await tx.rollback().execute()
  }
}

async function* readAll(tx: Tx, { resellerId, list }: ExportArgs): AsyncGenerator<Watch[]> {
  let after: WatchPosition | undefined
  do {
    const page = await listWatches(tx, resellerId, { list, after, limit: PAGE_ROWS })
    yield page
    after = page.length === PAGE_ROWS ? page.at(-1)?.entry : undefined
  } while (after !== undefined)
}

async function* entriesOf(pages: AsyncIterable<readonly Watch[]>): AsyncGenerator<WatchEntry[]> {
  for await (const page of pages) if (page.length > 0) yield page.map(({ entry }) => entry)
}

/** Yields the text of a file with these entries, one page at a time. */
export async function* writeEntries(
  pages: AsyncIterable<readonly WatchEntry[]> | Iterable<readonly WatchEntry[]>,
  format: WatchFormat,
): AsyncGenerator<string> {
  if (format === 'csv') yield csvText([COLUMNS])
  let empty = true
  for await (const page of pages) {
    empty = false
    yield format === 'csv' ? csvPage(page) : yamlPage(page)
  }
  if (empty && format === 'yaml') yield '[]\n'
}

function csvPage(entries: readonly WatchEntry[]): string {
  return csvText(
    entries.map((entry) => {
      const cells = cellsOf(entry)
      return COLUMNS.map((column) => {
        const value = cells[column]
        return typeof value === 'string' ? escapeFormula(value) : value?.toString()
      })
    }),
  )
}

/** Leaves out missing values, so that entries stay readable. */
function yamlPage(entries: readonly WatchEntry[]): string {
  const present = entries.map((entry) =>
    Object.fromEntries(Object.entries(cellsOf(entry)).filter(([, value]) => value !== null)),
  )
  return yamlText(present, { lineWidth: 0 })
}
