import { createReadStream } from 'node:fs'
import { readFile, realpath } from 'node:fs/promises'
import path from 'node:path'
import type { Writable } from 'node:stream'
import type { TableFormat } from '../platform/base/kinds.ts'
import { type AnalystSession, asAnalyst } from '../platform/db/analyst-session.ts'
import type { Database } from '../platform/db/database.ts'
import { requireSessionLock } from '../platform/db/session-lock.ts'
import {
  type Measure,
  measure,
  parseIf,
  unlessMissing,
  writeFlushed,
  writeJson,
} from './durable-files.ts'
import {
  assertOrigin,
  type ExportedTable,
  folderOf,
  MANIFEST,
  type Manifest,
  type Origin,
  readManifest,
  readOrigin,
  runsAfter,
} from './export-manifest.ts'
import { type ExportPlace, openPlace, withStaging } from './export-place.ts'
import { writeTable } from './export-tables.ts'
import {
  type Cursors,
  type ExportRange,
  type PlannedPart,
  planExport,
  readSnapshot,
  type Snapshot,
} from './plan-export.ts'
import {
  chooseTables,
  ExportError,
  keyOf,
  numbersOf,
  type PublicTable,
  readPublicTables,
} from './public-tables.ts'

export interface TableExport {
  readonly tables: readonly string[]
  readonly format: TableFormat
  readonly from?: ExportRange['from']
}

interface PlacedExport extends TableExport {
  /** A folder, or s3://bucket/prefix. */
  readonly to: string
  /** The file that says what earlier runs took. The export becomes a run of its own, with the rest. */
  readonly state?: string | undefined
}

interface ExportOptions {
  readonly onProgress?: ((step: string) => void) | undefined
}

/** Writes one table to a stream. Throws ExportError, SqlError. */
export async function streamTable(
  database: Pick<Database, 'pool'>,
  { tables: names, format, from, state }: Omit<PlacedExport, 'to'>,
  out: Writable,
): Promise<void> {
  if (state !== undefined) throw new ExportError('standard output takes no --state: name a place')
  await inSession(database, names, async (session, tables, snapshot) => {
    const [part, another] = await planExport(session, tables, { snapshot, from })
    if (part === undefined || another !== undefined) {
      throw new ExportError('standard output takes one table: name a place with --to')
    }
    await writeTable(session, out, { ...part, format })
  })
}

/**
 * Writes tables of the public SQL to files, all as they stood at one instant, and a manifest at last. Returns their names.
 * Throws ExportError, LockHeldError, SqlError.
 */
export async function exportTables(
  database: Pick<Database, 'db' | 'pool'>,
  request: PlacedExport,
  { onProgress }: ExportOptions = {},
): Promise<string[]> {
  const place = await openPlace(request.to)
  return requireSessionLock(database.db, `export to ${place.lock}`, () =>
    withStaging(place, () => exportLocked(database, request, { place, onProgress })),
  )
}

/**
 * The manifest ends the run, and the state follows. A run that is killed before its manifest has taken nothing. After it, the next run
 * finds the manifest, and goes on from there.
 */
async function exportLocked(
  { db, pool }: Pick<Database, 'db' | 'pool'>,
  request: PlacedExport,
  { place, onProgress }: ExportOptions & { readonly place: ExportPlace },
): Promise<string[]> {
  const { tables: names, format, from, state: file } = request
  const origin = await readOrigin(db)
  const last = await begin(request, { place, origin })
  const run = last === undefined ? null : last.run + 1
  const folder = run === null ? '' : folderOf(run)
  const { instant, tables } = await inSession(
    { pool },
    names,
    async (session, chosen, snapshot) => {
      const written: ExportedTable[] = []
      for (const part of await planExport(session, chosen, {
        from,
        cursors: last?.tables,
        snapshot,
      })) {
        onProgress?.(`writing ${part.table.name}`)
        written.push(await writePart(session, part, { place, format }))
      }
      return { instant: snapshot.instant, tables: written }
    },
  )
  for (const { file: name, ...measured } of tables) await place.put(folder, name, measured)
  onProgress?.('writing the manifest')
  const manifest = { run, instant, ...origin, tables }
  await place.put(folder, MANIFEST, await writeStaged(place, manifest))
  onProgress?.('moving the state')
  if (file !== undefined && last !== undefined && run !== null) {
    await writeJson(file, stateAfter(last, { ...manifest, run }))
  }
  const files = [...tables.map((table) => table.file), MANIFEST]
  return files.map((name) => `${place.name}/${folder}${name}`)
}

interface Begun {
  readonly place: ExportPlace
  readonly origin: Origin
}

/** What earlier runs took; undefined for an export by itself. Throws ExportError. */
async function begin(
  { state, from, format }: PlacedExport,
  { place, origin }: Begun,
): Promise<ExportState | undefined> {
  if (state !== undefined) {
    if (from !== undefined) {
      throw new ExportError('--state knows what is new: leave --from out, or --state')
    }
    if (format !== 'parquet') throw new ExportError('--state writes Parquet: leave --format out')
    return readState(state, { place, origin })
  }
  if ((await readManifest(place, '', origin)) === undefined) return undefined
  throw new ExportError(
    `${place.name}/${MANIFEST} exists: remove that export, or choose another place`,
  )
}

async function writePart(
  session: AnalystSession,
  part: PlannedPart,
  { place, format }: { readonly place: ExportPlace; readonly format: TableFormat },
): Promise<ExportedTable> {
  const { table, first, last } = part
  const { name, columns } = table
  const file = `${name}.${format}`
  const staged = path.join(place.staging, file)
  const rows = await writeFlushed(staged, (out) => writeTable(session, out, { ...part, format }))
  const numbers = { key: keyOf(table), numbers: numbersOf(table), first, last }
  return { name, ...numbers, columns, file, rows, ...(await measure(createReadStream(staged))) }
}

async function writeStaged({ staging }: ExportPlace, manifest: Manifest): Promise<Measure> {
  const staged = path.join(staging, MANIFEST)
  await writeJson(staged, manifest)
  return measure(createReadStream(staged))
}

/** What the runs of an export have taken. */
interface ExportState extends Origin {
  /** The place of the runs; a folder as seen from the state, so that both may be moved together. */
  readonly to: string
  /** The number of the last run; 0 before the first one. */
  readonly run: number
  readonly tables: Cursors
}

/** What the state says, and the complete runs after it. Throws ExportError. */
async function readState(file: string, { place, origin }: Begun): Promise<ExportState> {
  const to = await seenFrom(file, place)
  const stored = await unlessMissing(readFile(file, 'utf8'))
  let state =
    stored === undefined ? { ...origin, to, run: 0, tables: {} } : parseIf(stored, isState)
  if (state === undefined) throw new ExportError(`${file} is not the state of an export`)
  if (state.to !== to) {
    throw new ExportError(`${file} is the state of the runs in ${state.to}, as seen from it`)
  }
  assertOrigin(file, state, origin)
  for await (const manifest of runsAfter(place, state.run, origin)) {
    state = stateAfter(state, manifest)
  }
  return state
}

function isState({ to, run, tables = { none: Number.NaN } }: Partial<ExportState>): boolean {
  const isNumbered = [run, ...Object.values(tables)].every(Number.isSafeInteger)
  return isNumbered && typeof to === 'string'
}

/** The state once a run is taken. A table that the run left out goes on where it was. */
function stateAfter(
  { to, tables: before }: ExportState,
  { run, tables, instant: _instant, ...origin }: Manifest & { readonly run: number },
): ExportState {
  const taken = tables.flatMap(({ name, last }) =>
    last === null ? [] : [[name, last + 1] as const],
  )
  return { ...origin, to, run, tables: { ...before, ...Object.fromEntries(taken) } }
}

async function seenFrom(file: string, { name }: ExportPlace): Promise<string> {
  const folder = path.dirname(path.resolve(file))
  const from = await realpath(folder).catch((cause: unknown) => {
    throw new ExportError(`the folder ${folder} of the state does not exist`, { cause })
  })
  if (!path.isAbsolute(name)) return name
  return path.relative(from, await realpath(name)) || '.'
}

/** Reads as the owner, because some views are for operators. */
async function inSession<T>(
  database: Pick<Database, 'pool'>,
  names: readonly string[],
  work: (session: AnalystSession, tables: readonly PublicTable[], snapshot: Snapshot) => Promise<T>,
): Promise<T> {
  return asAnalyst(
    database,
    async (session) => {
      const snapshot = await readSnapshot(session)
      return work(session, chooseTables(await readPublicTables(session), names), snapshot)
    },
    { isUnlimited: true, isOwner: true },
  )
}
