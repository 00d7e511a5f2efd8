import { deleteRecords as deleteRecordsOfWatches } from '../feeds/append-records.ts'
import { type Db, type RawBuilder, sql } from '../platform/db/database.ts'
import { HISTORY_FLOOR } from '../platform/db/history-floor.ts'
import { affected } from '../platform/db/transaction.ts'

/**
 * The histories by their tables, with the columns that say what an interval is about. The views `archivable_…` of the schema say which
 * intervals go, for the public views too. Places are not pruned: they change seldom, and routes take their names from them.
 */
const SUBJECTS_OF = {
  route_version: ['departure_id', 'destination_id'],
  route_availability_version: ['departure_id', 'destination_id'],
  fare_belief_version: ['tracked_fare_id'],
} as const

type PrunedTable = keyof typeof SUBJECTS_OF

export const PRUNED_TABLES = Object.keys(SUBJECTS_OF) as PrunedTable[]

/** The intervals of a table that go with a floor: their keys. */
function keysBelow(table: PrunedTable, floor: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`
    select ${keyOf(table)} from ${sql.table(`archivable_${table}`)} where valid_to <= ${floor} and archivable_at <= ${floor}`
}

function keyOf(table: PrunedTable): RawBuilder<unknown> {
  return sql.join([...SUBJECTS_OF[table], 'valid_from'].map((column) => sql.ref(column)))
}

/** The transactions that wrote the intervals that go with a floor. */
export function prunedRows(table: PrunedTable, before: Date): RawBuilder<unknown> {
  return sql`
    select written_in from ${sql.table(table)} where (${keyOf(table)}) in (${keysBelow(table, sql`${before}::timestamptz`)})`
}

/** One statement deletes so many records, so that it ends soon and locks little. */
const RECORDS = 5_000
/** Departures or fares whose intervals one statement deletes. */
const SUBJECTS = 50

interface DeleteOptions {
  readonly signal?: AbortSignal | undefined
  /** Called with the number of rows so far. */
  readonly onDeleted?: ((rows: number) => void) | undefined
}

/**
 * Deletes the rows below the floors, in batches. Returns how many. Safe to run at any time: the floors are only moved after an export was
 * checked.
 */
export async function deletePruned(
  db: Db,
  { signal, onDeleted }: DeleteOptions = {},
): Promise<number> {
  let deleted = 0
  for await (const rows of deletions(db)) {
    signal?.throwIfAborted()
    deleted += rows
    if (rows > 0) onDeleted?.(deleted)
  }
  return deleted
}

/** One batch after the other, each with its number of rows. Records of resellers cite changes, and are deleted before these. */
async function* deletions(db: Db): AsyncGenerator<number> {
  yield* untilNone(() => deleteWatchChanges(db))
  yield* untilNone(() => deleteRecords(db, 'availability_change', 'availability'))
  yield* untilNone(() => deleteRecords(db, 'route_change', 'route'))
  for (const table of PRUNED_TABLES) yield* deleteIntervals(db, table)
}

async function* untilNone(deleteBatch: () => Promise<number>): AsyncGenerator<number> {
  for (let rows = await deleteBatch(); rows > 0; rows = await deleteBatch()) yield rows
}

/** Of one reseller. */
function deleteWatchChanges(db: Db): Promise<number> {
  return deleteRecordsOfWatches(
    db,
    sql`
      using (select r.id, least(r.first_seq, m.seq + ${RECORDS}) as floor
               from reseller r
              cross join lateral (select min(seq) as seq from watch_change where reseller_id = r.id) m
              where m.seq < r.first_seq
              limit 1) b
      where w.reseller_id = b.id and w.seq < b.floor
    `,
  )
}

function deleteRecords(db: Db, table: string, feed: string): Promise<number> {
  const from = sql.table(table)
  return affected(
    sql`
      delete from ${from}
       where seq < (select least(first_seq, (select min(seq) from ${from}) + ${RECORDS}) from feed_head where feed = ${feed})
    `,
    db,
  )
}

/** Goes by the first column of the subject: each statement finds its intervals by the index of the timelines. */
async function* deleteIntervals(db: Db, table: PrunedTable): AsyncGenerator<number> {
  const [subject] = SUBJECTS_OF[table]
  const column = sql.ref(subject)
  const { rows } = await sql<{ subject: string }>`
    select distinct ${column}::text as subject from ${sql.table(table)} where valid_to <= ${HISTORY_FLOOR}
  `.execute(db)
  const type = sql.raw(subject === 'tracked_fare_id' ? 'bigint[]' : 'text[]')
  for (let at = 0; at < rows.length; at += SUBJECTS) {
    const subjects = rows.slice(at, at + SUBJECTS).map((row) => row.subject)
    const isOfBatch = sql`${column} = any(${subjects}::${type})`
    yield await affected(
      sql`
        delete from ${sql.table(table)}
         where ${isOfBatch} and written_in < (select written_before from prune)
           and (${keyOf(table)}) in (${keysBelow(table, HISTORY_FLOOR)} and ${isOfBatch})
      `,
      db,
    )
  }
}
