import { type Db, type RawBuilder, sql } from '../../platform/db/database.ts'
import { HISTORY_FLOOR, readHistoryFloor } from '../../platform/db/history-floor.ts'
import { affected, inTransaction, selectOne } from '../../platform/db/transaction.ts'
import { HISTORY_TABLES, isArchived } from './archived-rows.ts'

/** One statement deletes so many records, so that it ends soon and locks little. */
const RECORDS = 5_000
/** Departures or fares whose intervals one statement deletes. */
const SUBJECTS = 50

/**
 * Deletes the rows below the floors, in batches. Returns how many. Also finishes what an interrupted archive left. Safe to run
 * at any time: only files that were verified move the floors.
 */
export async function deleteArchived(db: Db, signal?: AbortSignal): Promise<number> {
  if ((await readHistoryFloor(db)) === null) return 0
  let deleted = await deleteWatchChanges(db, signal)
  // Records of resellers cite them, and are deleted before.
  deleted += await deleteRecords(db, { table: 'availability_change', feed: 'availability' }, signal)
  deleted += await deleteRecords(db, { table: 'route_change', feed: 'route' }, signal)
  for (const table of Object.keys(HISTORY_TABLES)) {
    deleted += await deleteIntervals(db, table, signal)
  }
  return deleted
}

interface SeqRange {
  /** Null if there is no record. */
  readonly from: number | null
  /** The first one that stays. */
  readonly floor: number
}

async function inRanges(
  { from, floor }: SeqRange,
  deleteRange: (from: number, to: number) => Promise<number>,
  signal: AbortSignal | undefined,
): Promise<number> {
  let deleted = 0
  for (let at = from ?? floor; at < floor; at += RECORDS) {
    signal?.throwIfAborted()
    deleted += await deleteRange(at, Math.min(floor, at + RECORDS))
  }
  return deleted
}

async function deleteRecords(
  db: Db,
  { table, feed }: { readonly table: string; readonly feed: string },
  signal: AbortSignal | undefined,
): Promise<number> {
  const range = await selectOne(
    sql<SeqRange>`
      select (select min(seq) from ${sql.table(table)}) as "from", first_seq as floor from feed_head where feed = ${feed}
    `,
    db,
  )
  const deleteRange = (from: number, to: number) =>
    affected(sql`delete from ${sql.table(table)} where seq >= ${from} and seq < ${to}`, db)
  return inRanges(range, deleteRange, signal)
}

/** With the events that no record cites any more. */
async function deleteWatchChanges(db: Db, signal: AbortSignal | undefined): Promise<number> {
  const { rows } = await sql<SeqRange & { id: number }>`
    select id, first_seq as floor, (select min(seq) from watch_change where reseller_id = reseller.id) as "from"
      from reseller
     where first_seq > 1
     order by id
  `.execute(db)
  let deleted = 0
  for (const { id, ...range } of rows) {
    const deleteRange = (from: number, to: number) => deleteWatchRange(db, id, { from, to })
    deleted += await inRanges(range, deleteRange, signal)
  }
  return deleted
}

function deleteWatchRange(
  db: Db,
  resellerId: number,
  { from, to }: { readonly from: number; readonly to: number },
): Promise<number> {
  return inTransaction(db, async (tx) => {
    const { rows } = await sql<{ event: string | null }>`
      delete from watch_change where reseller_id = ${resellerId} and seq >= ${from} and seq < ${to}
      returning watch_event_id as event
    `.execute(tx)
    const events = rows.flatMap(({ event }) => (event === null ? [] : [event]))
    await sql`
      delete from watch_event e
       where e.id = any(${events}::uuid[]) and not exists (select from watch_change w where w.watch_event_id = e.id)
    `.execute(tx)
    return rows.length
  })
}

/** Goes by the first column of the subject: each statement finds its intervals by the index of the timelines. */
async function deleteIntervals(
  db: Db,
  table: string,
  signal: AbortSignal | undefined,
): Promise<number> {
  const column = sql.ref(HISTORY_TABLES[table]?.subject[0] ?? '')
  const { rows } = await sql<{ subject: string }>`
    select distinct ${column}::text as subject from ${sql.table(table)} where valid_to <= ${HISTORY_FLOOR}
  `.execute(db)
  let deleted = 0
  for (let at = 0; at < rows.length; at += SUBJECTS) {
    signal?.throwIfAborted()
    const subjects = rows.slice(at, at + SUBJECTS).map(({ subject }) => subject)
    deleted += await affected(deletionOf(table, column, subjects), db)
  }
  return deleted
}

function deletionOf(
  table: string,
  column: RawBuilder<unknown>,
  subjects: readonly string[],
): RawBuilder<unknown> {
  const type = sql.raw(table === 'fare_belief_version' ? 'bigint[]' : 'text[]')
  return sql`
    delete from ${sql.table(table)} v
     using (select ${HISTORY_FLOOR} as floor) f
     where v.${column} = any(${subjects}::${type}) and ${sql.raw(isArchived(table, 'f.floor'))}
  `
}
