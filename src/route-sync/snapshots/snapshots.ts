import { AppError } from '../../base/errors.ts'
import { type Db, sql, type Tx } from '../../db/database.ts'
import { affected } from '../../db/transaction.ts'
import { JOINABLE } from '../runs/resolve-runs.ts'
import { ACCEPTED } from '../runs/run-records.ts'
import { type PackedSnapshot, unpackSnapshot } from './pack-snapshot.ts'

const PARTS_PER_STATEMENT = 16

/** The list of a run was never kept, or its retention is over. */
export class SnapshotNotKeptError extends AppError {
  override readonly name = 'SnapshotNotKeptError'
  override readonly code = 'sync.snapshot_gone'
  override readonly retryable = false

  constructor(runId: number) {
    super(
      `the list of run ${runId} is not kept: only lists that were applied or held are, for SNAPSHOT_RETENTION_DAYS`,
    )
  }
}

export async function hasSnapshot(db: Db, contentHash: string): Promise<boolean> {
  const { rows } = await sql<{ kept: number }>`
    select 1 as kept from snapshot where content_hash = ${contentHash}
  `.execute(db)
  return rows.length > 0
}

/** Notes that a run has brought a list again. Returns whether it is kept. */
export async function touchSnapshot(tx: Tx, contentHash: string): Promise<boolean> {
  const touched = await affected(
    sql`update snapshot set kept_at = clock_timestamp() where content_hash = ${contentHash}`,
    tx,
  )
  return touched > 0
}

/** Keeps a list. One that another run has kept meanwhile stays as it is. */
export async function saveSnapshot(
  tx: Tx,
  contentHash: string,
  { bytes, storedBytes, parts }: PackedSnapshot,
): Promise<void> {
  const saved = await affected(
    sql`
      insert into snapshot (content_hash, bytes, stored_bytes)
      values (${contentHash}, ${bytes}, ${storedBytes})
          on conflict (content_hash) do nothing
    `,
    tx,
  )
  if (saved === 0) return
  for (let from = 0; from < parts.length; from += PARTS_PER_STATEMENT) {
    const rows = parts
      .slice(from, from + PARTS_PER_STATEMENT)
      .map((part, i) => sql`(${contentHash}, ${from + i}::integer, ${part}::bytea)`)
    await sql`insert into snapshot_part (content_hash, part, content) values ${sql.join(rows)}`.execute(
      tx,
    )
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
  return unpackSnapshot(contentHash, readParts(db, contentHash))
}

async function* readParts(db: Db, contentHash: string): AsyncGenerator<Uint8Array> {
  for (let from = 0; ; from += PARTS_PER_STATEMENT) {
    const { rows } = await sql<{ content: Uint8Array }>`
      select content from snapshot_part
       where content_hash = ${contentHash} and part >= ${from} and part < ${from + PARTS_PER_STATEMENT}
       order by part
    `.execute(db)
    yield* rows.map((row) => row.content)
    if (rows.length < PARTS_PER_STATEMENT) return
  }
}

/**
 * Forgets the lists that no run has brought for so many days. Those of held runs stay, the last accepted one of each
 * list, which an upstream may say is still the same, and the first of each review in which a person rejected one, for
 * later ones to be compared with. Returns how many went.
 *
 * Safe to run at any moment: a run that brings a list again touches its row, so that one of the two waits for the
 * other and sees what it did.
 */
export async function pruneSnapshots(db: Db, retentionDays: number): Promise<number> {
  return affected(
    sql`
      delete from snapshot s
       where s.kept_at < clock_timestamp() - make_interval(days => ${retentionDays}::integer)
         and not exists (select from sync_run r where r.content_hash = s.content_hash and r.status = 'held')
         and s.content_hash not in (
               select distinct on (list) content_hash
                 from sync_run
                where status in ${ACCEPTED} and content_hash is not null
                order by list, fetched_at desc)
         and s.content_hash not in (
               select distinct on (r.review_id) r.content_hash
                 from sync_run r
                 join snapshot kept on kept.content_hash = r.content_hash
                where r.review_id in (select review_id from sync_run where resolution = 'rejected')
                  and ${JOINABLE}
                order by r.review_id, r.id)
    `,
    db,
  )
}
