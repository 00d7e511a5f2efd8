import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { gunzip, gzip } from 'node:zlib'
import type { Scrub } from '../platform/base/secrets.ts'
import { type Db, sql, type Tx } from '../platform/db/database.ts'
import { affected } from '../platform/db/transaction.ts'
import { SnapshotDamagedError, SnapshotNotKeptError } from './errors.ts'
import { ACCEPTED } from './runs.ts'

const gzipAsync = promisify(gzip)
const gunzipAsync = promisify(gunzip)

/**
 * Measured on a million routes, 180 MB: level 1 compresses them to 25 MB in 0.7 s, on another thread while the list is
 * staged. Writing them takes 0.2 s of the transaction, reading them back 1.6 s. Real lists shrink to a thirteenth at
 * 550 MB/s; level 6 shrinks them to a fifteenth at 200 MB/s.
 */
const LEVEL = 1
/** Larger parts would occupy a thread of the pool, and memory, for longer. */
const MAX_PART_BYTES = 1_048_576
/** A secret may lie across two parts; in no spelling is it longer than this. */
const OVERLAP_CHARS = 4_096
const PARTS_PER_STATEMENT = 16

/** A list as it is kept. */
export interface PackedSnapshot {
  readonly bytes: number
  readonly storedBytes: number
  /** The pieces in order. Each is a gzip member of its own. */
  readonly parts: readonly Buffer[]
}

/**
 * Compresses a list part by part, and yields to the event loop between them.
 *
 * Returns null if the list holds a secret of ours: bytes cannot be masked without changing their hash, so such a list
 * is not kept.
 */
export async function packSnapshot(
  chunks: readonly Uint8Array[],
  scrub: Scrub,
): Promise<PackedSnapshot | null> {
  const parts: Buffer[] = []
  let bytes = 0
  let overlap = ''
  for (const part of partsOf(chunks)) {
    const text = overlap + Buffer.from(part.buffer, part.byteOffset, part.length).toString('utf8')
    if (scrub(text) !== text) return null
    overlap = text.slice(-OVERLAP_CHARS)
    parts.push(await gzipAsync(part, { level: LEVEL }))
    bytes += part.length
  }
  return { bytes, storedBytes: parts.reduce((sum, part) => sum + part.length, 0), parts }
}

function* partsOf(chunks: readonly Uint8Array[]): Generator<Uint8Array> {
  for (const chunk of chunks) {
    for (let at = 0; at < chunk.length; at += MAX_PART_BYTES) {
      yield chunk.subarray(at, at + MAX_PART_BYTES)
    }
  }
}

export async function hasSnapshot(db: Db, contentHash: string): Promise<boolean> {
  const snapshot = await db
    .selectFrom('snapshot')
    .select('content_hash')
    .where('content_hash', '=', contentHash)
    .executeTakeFirst()
  return snapshot !== undefined
}

/** Keeps the list that a run brought. If the list is kept already, its retention starts again. */
export async function keepSnapshot(
  tx: Tx,
  contentHash: string,
  pack: () => Promise<PackedSnapshot | null>,
): Promise<void> {
  if (await touchSnapshot(tx, contentHash)) return
  const packed = await pack()
  if (packed !== null) await saveSnapshot(tx, contentHash, packed)
}

/** Starts the retention of a kept list again. Returns false if the list is not kept. */
export async function touchSnapshot(tx: Tx, contentHash: string): Promise<boolean> {
  const { numUpdatedRows } = await tx
    .updateTable('snapshot')
    .set({ kept_at: sql`clock_timestamp()` })
    .where('content_hash', '=', contentHash)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

export async function saveSnapshot(
  tx: Tx,
  contentHash: string,
  { bytes, storedBytes, parts }: PackedSnapshot,
): Promise<void> {
  const saved = await tx
    .insertInto('snapshot')
    .values({ content_hash: contentHash, bytes, stored_bytes: storedBytes })
    // Another run may have kept the same list in the meantime.
    .onConflict((conflict) => conflict.column('content_hash').doNothing())
    .executeTakeFirst()
  if (saved.numInsertedOrUpdatedRows === 0n) return
  for (let from = 0; from < parts.length; from += PARTS_PER_STATEMENT) {
    const rows = parts
      .slice(from, from + PARTS_PER_STATEMENT)
      .map((content, i) => ({ content_hash: contentHash, part: from + i, content }))
    await tx.insertInto('snapshot_part').values(rows).execute()
  }
}

/** The bytes of the list that a run brought. Throws SnapshotNotKeptError, SnapshotDamagedError. */
export async function loadSnapshot(
  db: Db,
  { runId, contentHash }: { readonly runId: number; readonly contentHash: string | null },
): Promise<Uint8Array[]> {
  if (contentHash === null || !(await hasSnapshot(db, contentHash))) {
    throw new SnapshotNotKeptError(runId)
  }
  const hash = createHash('sha256')
  const chunks: Uint8Array[] = []
  for await (const part of readParts(db, contentHash)) {
    const chunk = await gunzipAsync(part, { maxOutputLength: MAX_PART_BYTES }).catch(() => {
      throw new SnapshotDamagedError(contentHash)
    })
    hash.update(chunk)
    chunks.push(chunk)
  }
  if (hash.digest('hex') !== contentHash) throw new SnapshotDamagedError(contentHash)
  return chunks
}

async function* readParts(db: Db, contentHash: string): AsyncGenerator<Uint8Array> {
  for (let from = 0; ; from += PARTS_PER_STATEMENT) {
    const rows = await db
      .selectFrom('snapshot_part')
      .select('content')
      .where('content_hash', '=', contentHash)
      .where('part', '>=', from)
      .where('part', '<', from + PARTS_PER_STATEMENT)
      .orderBy('part')
      .execute()
    yield* rows.map((row) => row.content)
    if (rows.length < PARTS_PER_STATEMENT) return
  }
}

/** Every list is kept for so long; after that one a day of each kind. */
const ALL_KEPT_DAYS = sql.lit(7)

/** Whether snapshot `s` is the last list that a run brought on its UTC day, of one of the kinds. */
function isLastOfDay() {
  return sql<boolean>`
    exists (select from sync_run r
             where r.content_hash = s.content_hash
               and not exists (select from sync_run other
                                 join snapshot later on later.content_hash = other.content_hash
                                where other.list = r.list and later.kept_at > s.kept_at
                                  and (later.kept_at at time zone 'UTC')::date = (s.kept_at at time zone 'UTC')::date))`
}

/**
 * Deletes the lists that no run has brought for `retentionDays`, and after a week all but the last one of each day.
 * Returns how many.
 *
 * Kept longer: the lists of held runs, those that later lists are compared with, and the last accepted list of each
 * kind, which the upstream may report as not modified.
 *
 * Safe to run at any moment: a run that brings a list again updates its row, so one of the two transactions waits for
 * the other and sees its result.
 */
export async function pruneSnapshots(db: Db, retentionDays: number): Promise<number> {
  return affected(
    sql`
      delete from snapshot s
       where (s.kept_at < clock_timestamp() - make_interval(days => ${retentionDays}::integer)
              or (s.kept_at < clock_timestamp() - make_interval(days => ${ALL_KEPT_DAYS}) and not ${isLastOfDay()}))
         and not exists (select from sync_run r
                          where r.content_hash = s.content_hash
                            and (r.status = 'held' or r.id in (select first_run_id from held_list)))
         and s.content_hash not in (
               select distinct on (list) content_hash
                 from sync_run
                where status in ${ACCEPTED} and content_hash is not null
                order by list, fetched_at desc)
    `,
    db,
  )
}
