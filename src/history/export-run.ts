import { mkdir, readdir, rename, rm } from 'node:fs/promises'
import { hostname } from 'node:os'
import path from 'node:path'
import type { Writable } from 'node:stream'
import { type AnalystSession, asAnalyst } from '../platform/db/analyst-session.ts'
import type { Database } from '../platform/db/database.ts'
import { findLockHolder, withSessionLock } from '../platform/db/session-lock.ts'
import { flushDirectory, readJson, writeJson } from './durable-files.ts'
import { type Origin, readOrigin, readState, saveState } from './export-state.ts'
import { type TableFormat, writeTable } from './export-tables.ts'
import { planOnce, planRun, readSnapshot, type Snapshot, stateAfter } from './plan-export.ts'
import { chooseTables, ExportError, type PublicTable, readPublicTables } from './public-tables.ts'
import { type ExportedTable, type ExportOptions, writeParts } from './write-parts.ts'

export interface TableExport {
  readonly tables: readonly string[]
  readonly format: TableFormat
  /** A number of a feed, or an instant: rows that are new since then. */
  readonly since?: number | Date | undefined
}

interface DirectoryExport extends TableExport {
  readonly directory: string
  /** Replaces the export that is in the directory. */
  readonly isForced?: boolean
  /** The file that says what earlier runs took. The export becomes a run of its own, with the rest. */
  readonly state?: string | undefined
}

/** What `export.json` says of one export. */
interface ExportManifest extends Origin, Snapshot {
  /** Null unless the export is one of a row of runs. */
  readonly run: number | null
  readonly tables: readonly ExportedTable[]
}

const MANIFEST = 'export.json'
/** Where files are written until the export is complete. Its name begins with a dot, so `run=*` does not match it. */
const STAGING = '.partial'

/** Writes one table to a stream. Throws ExportError, SqlError. */
export async function streamTable(
  database: Pick<Database, 'pool'>,
  { tables: names, format, since, state, isForced }: Omit<DirectoryExport, 'directory'>,
  out: Writable,
): Promise<void> {
  if (state !== undefined || isForced) {
    throw new ExportError('standard output takes neither --state nor --force: name a directory')
  }
  await inSession(database, names, async (session, tables, snapshot) => {
    const [part, another] = await planOnce(session, tables, { snapshot, since })
    if (part === undefined || another !== undefined) {
      throw new ExportError('standard output takes one table: name a directory with --out')
    }
    await writeTable(session, out, { ...part, format })
  })
}

/**
 * Writes tables of the public SQL to files, all as they stood at one instant, with a manifest. Files appear under their names once all of
 * them are complete. Returns their paths. Throws ExportError, SqlError.
 */
export async function exportTables(
  database: Pick<Database, 'db' | 'pool'>,
  request: DirectoryExport,
  options: ExportOptions = {},
): Promise<string[]> {
  const directory = path.resolve(request.directory)
  const lock = `export to ${hostname()} ${directory}`
  await mkdir(directory, { recursive: true })
  const files = await withSessionLock(database.db, lock, () =>
    request.state === undefined
      ? exportOnce(database, { ...request, directory }, options)
      : exportNext(database, { ...request, directory, state: request.state }, options),
  )
  if (files !== undefined) return files
  const holder = await findLockHolder(database.db, lock)
  throw new ExportError(`another export writes to ${directory}: its lock is ${holder}`)
}

async function exportOnce(
  database: Pick<Database, 'db' | 'pool'>,
  { tables: names, format, since, directory, isForced = false }: DirectoryExport,
  { onProgress }: ExportOptions,
): Promise<string[]> {
  const origin = await readOrigin(database.db)
  const staging = await emptyStaging(directory)
  const old = await readManifest(directory)
  return inSession(database, names, async (session, tables, snapshot) => {
    const parts = await planOnce(session, tables, { snapshot, since })
    const present = await readdir(directory)
    const taken = [MANIFEST, ...parts.map(({ file }) => `${file}.${format}`)].find((name) =>
      present.includes(name),
    )
    if (taken !== undefined && !isForced) {
      throw new ExportError(
        `${path.join(directory, taken)} exists: choose another directory, or replace what is there with --force`,
      )
    }
    const written = await writeParts(session, { parts, format, staging, onProgress })
    await saveManifest(staging, { run: null, ...snapshot, ...origin, tables: written })
    const replaced = old?.tables?.flatMap(({ files }) => files.map(({ name }) => name)) ?? []
    for (const name of [MANIFEST, ...replaced]) {
      await rm(path.join(directory, name), { force: true })
    }
    return publishFiles(staging, directory, written)
  }).catch((err: unknown) => discard(staging, err))
}

/** The manifest comes last: what it names is there. */
async function publishFiles(
  staging: string,
  directory: string,
  written: readonly ExportedTable[],
): Promise<string[]> {
  const names = [...written.flatMap(({ files }) => files.map(({ name }) => name)), MANIFEST]
  for (const name of names) await rename(path.join(staging, name), path.join(directory, name))
  await flushDirectory(directory)
  await rm(staging, { recursive: true })
  return names.map((name) => path.join(directory, name))
}

/**
 * Writes what is new since the last run as the next one. The state moves when the files of the run are complete and on the disk, and the
 * directory of the run gets its name after that: a run that is killed before the one has taken nothing, and after it the
 * next run gives the name.
 */
async function exportNext(
  database: Pick<Database, 'db' | 'pool'>,
  request: DirectoryExport & { readonly state: string },
  { onProgress }: ExportOptions,
): Promise<string[]> {
  const { tables: names, directory, state: file } = request
  assertRun(request)
  const origin = await readOrigin(database.db)
  const last = await readState(file, { directory, origin })
  await publishRun(directory, last?.run)
  const run = (last?.run ?? 0) + 1
  if ((await readdir(directory)).includes(nameOf(run))) {
    throw new ExportError(
      `${path.join(directory, nameOf(run))} exists, and ${file} does not name it: choose another directory and another state`,
    )
  }
  const staging = await emptyStaging(directory)
  const { state, written } = await inSession(database, names, async (session, tables, snapshot) => {
    const parts = await planRun(session, tables, { snapshot, last })
    const written = await writeParts(session, { parts, format: 'parquet', staging, onProgress })
    await saveManifest(staging, { run, ...snapshot, ...origin, tables: written })
    return { state: stateAfter({ run, ...origin }, snapshot, { parts, last }), written }
  }).catch((err: unknown) => discard(staging, err))
  onProgress?.('moving the state')
  await saveState(file, directory, state)
  onProgress?.(`publishing run ${run}`)
  await publishRun(directory, run)
  const namesOf = written.flatMap(({ files }) => files.map(({ name }) => name))
  return [...namesOf, MANIFEST].map((name) => path.join(directory, nameOf(run), name))
}

function assertRun({ format, since, isForced }: DirectoryExport): void {
  if (since !== undefined) {
    throw new ExportError('--state knows what is new: leave --from out, or --state')
  }
  if (isForced) throw new ExportError('--state replaces no files: leave --force out')
  if (format !== 'parquet') throw new ExportError('--state writes Parquet: leave --format out')
}

/** Gives a complete run its name, unless it has it. Does nothing if the staged one is another run. */
async function publishRun(directory: string, run: number | undefined): Promise<void> {
  const staging = path.join(directory, STAGING)
  const staged = await readManifest(staging)
  if (run === undefined || staged?.run !== run) return
  await rename(staging, path.join(directory, nameOf(run)))
  await flushDirectory(directory)
}

/** In the form of Hive, so that a query over all runs has the number as a column. */
function nameOf(run: number): string {
  return `run=${run}`
}

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
    { isUnlimited: true },
  )
}

/** What a killed export left is deleted. */
async function emptyStaging(directory: string): Promise<string> {
  const staging = path.join(directory, STAGING)
  await rm(staging, { recursive: true, force: true })
  await mkdir(staging)
  await flushDirectory(directory)
  return staging
}

async function discard(staging: string, err: unknown): Promise<never> {
  await rm(staging, { recursive: true, force: true })
  throw err
}

/** Undefined if there is none, or one that is not ours. */
async function readManifest(directory: string): Promise<Partial<ExportManifest> | undefined> {
  const manifest = await readJson(path.join(directory, MANIFEST)).catch(() => undefined)
  return manifest as Partial<ExportManifest> | undefined
}

async function saveManifest(directory: string, manifest: ExportManifest): Promise<void> {
  await writeJson(path.join(directory, MANIFEST), manifest)
}
