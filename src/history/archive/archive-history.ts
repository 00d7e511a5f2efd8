import path from 'node:path'
import { asAnalyst } from '../../platform/db/analyst-session.ts'
import { type Database, type Db, sql } from '../../platform/db/database.ts'
import { findLockHolder, withSessionLock } from '../../platform/db/session-lock.ts'
import { inTransaction, selectOne } from '../../platform/db/transaction.ts'
import { measureFile, type WrittenFile, writeFlushed } from '../durable-files.ts'
import { verifyQuery, writeQuery } from '../export-tables.ts'
import { rollUpDays } from '../roll-up-days.ts'
import {
  ArchiveError,
  ArchiveRunsError,
  clearDirectory,
  type Manifest,
  readDirectory,
  writeManifest,
} from './archive-directory.ts'
import { type ArchivedRows, archivedRows, deleteArchived } from './archived-rows.ts'
import { assertArchivable, dayOf, moveFloors, type Need, planArchive } from './plan-archive.ts'

const LOCK = 'archive'

interface ArchiveArgs {
  /** A midnight in UTC. */
  readonly before: Date
  readonly directory: string
}

interface ArchiveOptions {
  readonly signal?: AbortSignal | undefined
  readonly onProgress?: ((step: string) => void) | undefined
}

export interface ArchiveResult {
  readonly before: string
  readonly files: readonly WrittenFile[]
  /** Rows that this call deleted. More than it wrote if an earlier archive had been interrupted. */
  readonly deleted: number
  /** Records before the date that stay, because endpoints need them. */
  readonly needs: readonly Need[]
}

/**
 * Moves closed intervals and records from before a date to Parquet files: writes them, reads them back, moves the
 * floors, deletes the rows. Each step can be killed: before the floors move nothing is deleted, and the next
 * archive deletes what lies below them. Missing days before the date are rolled up first, because no later roll-up
 * can read them.
 *
 * Checks and syncs go on meanwhile. Throws ArchiveError, ArchiveRunsError and ParquetError.
 */
export async function archiveHistory(
  database: Pick<Database, 'db' | 'pool'>,
  args: ArchiveArgs,
  options: ArchiveOptions = {},
): Promise<ArchiveResult> {
  const { db } = database
  const result = await withSessionLock(db, LOCK, () => archiveLocked(database, args, options))
  if (result === undefined) {
    throw new ArchiveRunsError(await findLockHolder(db, LOCK))
  }
  return result
}

async function archiveLocked(
  { db, pool }: Pick<Database, 'db' | 'pool'>,
  { before, directory }: ArchiveArgs,
  { signal, onProgress }: ArchiveOptions,
): Promise<ArchiveResult> {
  await assertArchivable(db, before)
  const found = await readDirectory(directory)
  const isDone = found !== undefined && (await isInForce(db, directory, found, before))
  const onDeleted = (rows: number) => onProgress?.(`deleting the rows: ${rows} of them are deleted`)
  const left = await deleteArchived(db, { signal, onDeleted })
  if (isDone) return { before: dayOf(before), files: found.files, deleted: left, needs: [] }

  await rollUpDays(db, { signal, onProgress, before: dayOf(before) })
  signal?.throwIfAborted()
  const { floors, needs } = await planArchive(db, before)
  const rows = archivedRows(floors)
  const names = rows.map(fileOf)
  if (found !== undefined) await clearDirectory(directory, names)
  const { id } = await selectOne(
    sql<{ id: string }>`insert into archive (before) values (${before}) returning id`,
    db,
  )
  await writeManifest(directory, { id, before: dayOf(before), files: [] })
  const files = await writeFiles({ pool }, { rows, directory }, { signal, onProgress })
  if (files.every((file) => file.rows === 0)) {
    await clearDirectory(directory, names)
    return { before: dayOf(before), files: [], deleted: left, needs }
  }
  await writeManifest(directory, { id, before: dayOf(before), files })
  onProgress?.('moving the floors')
  signal?.throwIfAborted()
  await inTransaction(db, (tx) => moveFloors(tx, id, floors))
  const deleted = left + (await deleteArchived(db, { signal, onDeleted }))
  return { before: dayOf(before), files, deleted, needs }
}

/**
 * Whether the archive in a directory is the one that is asked for and has moved the floors. Throws ArchiveError
 * for any other one.
 */
async function isInForce(
  db: Db,
  directory: string,
  { id, before: day }: Manifest,
  before: Date,
): Promise<boolean> {
  const { rows } = await sql<{ applied: boolean }>`
    select applied_at is not null as applied from archive where id::text = ${id}
  `.execute(db)
  const [row] = rows
  if (row !== undefined && !row.applied) return false
  if (row?.applied && day === dayOf(before)) return true
  const whose = row === undefined ? 'an archive of another database' : `the archive before ${day}`
  throw new ArchiveError(`${directory} holds ${whose}: choose an empty or a new directory`)
}

interface FilesArgs {
  readonly rows: readonly ArchivedRows[]
  readonly directory: string
}

/** Writes and verifies all files as the database stood at one instant. */
async function writeFiles(
  database: Pick<Database, 'pool'>,
  { rows, directory }: FilesArgs,
  { signal, onProgress }: ArchiveOptions,
): Promise<WrittenFile[]> {
  return asAnalyst(
    database,
    async (session) => {
      const files: WrittenFile[] = []
      for (const query of rows) {
        signal?.throwIfAborted()
        const name = fileOf(query)
        const file = path.join(directory, name)
        const onRows = (step: string) => (count: number) => onProgress?.(`${step}: ${count} rows`)
        const written = await writeFlushed(file, (out) =>
          writeQuery(session, out, { ...query, onRows: onRows(`writing ${name}`) }),
        )
        await verifyQuery(session, file, {
          ...query,
          onRows: onRows(`comparing ${name} with the database`),
        })
        files.push({ name, rows: written, ...(await measureFile(file)) })
      }
      return files
    },
    { isUnlimited: true, isOwner: true },
  )
}

function fileOf({ name }: ArchivedRows): string {
  return `${name}.parquet`
}
