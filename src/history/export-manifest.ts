import { text } from 'node:stream/consumers'
import type { Db } from '../platform/db/database.ts'
import { readGeneration, readIdentity } from '../platform/db/generations.ts'
import { type Measure, parseIf } from './durable-files.ts'
import type { ExportPlace } from './export-place.ts'
import { type ExportColumn, ExportError, type Numbers } from './public-tables.ts'

/** What numbers belong to: they go on within one generation of one database. */
export interface Origin {
  readonly generation: number
  readonly database: string
}

/** What a manifest says of one table. */
export interface ExportedTable extends Measure {
  readonly name: string
  /** The column by which rows of a later run replace earlier ones; null for a view that each run has whole. */
  readonly key: string | null
  readonly numbers: Numbers | null
  /** The first and the last number that the file covers: of records, or of transactions. Null where there is none. */
  readonly first: number | null
  readonly last: number | null
  readonly columns: readonly ExportColumn[]
  /** Its path below the folder of the manifest. */
  readonly file: string
  readonly rows: number
}

/** What `export.json` says of one export. It is written last: an export without it is not complete. */
export interface Manifest extends Origin {
  /** Null unless the export is one of a row of runs. */
  readonly run: number | null
  readonly instant: string
  readonly tables: readonly ExportedTable[]
}

export const MANIFEST = 'export.json'

/** In the form of Hive, so that a query over all runs has the number as a column. */
export function folderOf(run: number): string {
  return `run=${run}/`
}

/**
 * The identity has the timeline, so that a restored copy is found although no process has begun its generation yet. The identity
 * of a standby cannot be read: that of the generation counts.
 */
export async function readOrigin(db: Db): Promise<Origin> {
  const generation = await readGeneration(db)
  const { database, timeline } = (await readIdentity(db)) ?? generation
  return { generation: generation.number, database: `${database}/${timeline}` }
}

/** Throws ExportError for another database or an earlier generation: numbers would be taken twice, or never. */
export function assertOrigin(what: string, found: Origin, origin: Origin): void {
  const again = 'load everything again, into another place and with another state'
  if (found.database !== origin.database) {
    throw new ExportError(`${what} is of another database: ${again}`)
  }
  if (found.generation !== origin.generation) {
    throw new ExportError(
      `${what} is of generation ${found.generation}, and a restore began generation ${origin.generation}: ${again}`,
    )
  }
}

/** Undefined if no export is complete in the folder. Throws ExportError. */
export async function readManifest(
  place: ExportPlace,
  folder: string,
  origin: Origin,
): Promise<Manifest | undefined> {
  const content = await place.read(folder + MANIFEST)
  if (content === undefined) return undefined
  const what = `${place.name}/${folder}${MANIFEST}`
  const manifest = parseIf<Manifest>(await text(content), ({ tables = [null] }) =>
    tables.every((table) => table?.file !== undefined),
  )
  if (manifest === undefined) throw new ExportError(`${what} is not the manifest of an export`)
  assertOrigin(what, manifest, origin)
  return manifest
}

/** The runs after a number, as far as they are complete. Throws ExportError. */
export async function* runsAfter(
  place: ExportPlace,
  run: number,
  origin: Origin,
): AsyncGenerator<Manifest & { readonly run: number }> {
  for (let next = run + 1; ; next += 1) {
    const manifest = await readManifest(place, folderOf(next), origin)
    if (manifest === undefined) return
    yield { ...manifest, run: next }
  }
}
