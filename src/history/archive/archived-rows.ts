import { deleteUnusedEvents } from '../../feeds/append-records.ts'
import { type Db, type RawBuilder, sql } from '../../platform/db/database.ts'
import { HISTORY_FLOOR, readHistoryFloor } from '../../platform/db/history-floor.ts'
import { affected, inTransaction, selectOne } from '../../platform/db/transaction.ts'
import type { OrderedQuery } from '../export-tables.ts'
import type { Floors } from './plan-archive.ts'

/** The rows of one file, with the columns of the public view of its name and those that only the table has. */
export interface ArchivedRows extends OrderedQuery {
  readonly name: string
}

/**
 * The histories by their tables, with the columns that say what an interval is about. The views `archivable_…` of the schema say which
 * intervals are archived, for the public views too. Places are not archived: they change seldom, and routes take their names from
 * them.
 */
const SUBJECTS_OF: Readonly<Record<string, readonly string[]>> = {
  route_version: ['departure_id', 'destination_id'],
  route_availability_version: ['departure_id', 'destination_id'],
  fare_belief_version: ['tracked_fare_id'],
}

function keyOf(table: string): string[] {
  return [...(SUBJECTS_OF[table] ?? []), 'valid_from']
}

/** The rows that an archive writes and then deletes. */
export function archivedRows(floors: Floors): ArchivedRows[] {
  const floor = `timestamptz '${floors.before.toISOString()}'`
  const history = (name: string, table: string, key = keyOf(table).join(', ')): ArchivedRows => {
    return {
      name,
      select: `
        select *
          from farewatch.${name}
         where (${key}) in (select ${keyOf(table).join(', ')} from farewatch_private.archivable_${table}
                           where valid_to <= ${floor} and archivable_at <= ${floor})`,
      order: key,
    }
  }
  return [
    history('route_history', 'route_version'),
    history('route_availability_history', 'route_availability_version'),
    history('fare_history', 'fare_belief_version', 'fare_id, valid_from'),
    {
      name: 'route_changes',
      select: `select * from farewatch.route_changes where seq < ${floors.routeChanges}`,
      order: 'seq',
    },
    {
      name: 'availability_changes',
      select: `
        select v.*, c.evidence_hash, c.provenance
          from farewatch.availability_changes v
          join farewatch_private.availability_change c on c.seq = v.seq
         where v.seq < ${floors.availabilityChanges}`,
      order: 'seq',
    },
    { name: 'watch_changes', select: watchChanges(floors), order: 'reseller_id, seq' },
  ]
}

function watchChanges({ watchChanges: floors }: Floors): string {
  const values = floors.map(({ resellerId, first }) => `(${resellerId}, ${first})`)
  return `
    select w.reseller_id, r.name as reseller, w.seq, w.watch_id, w.reference, w.list,
           coalesce(c.kind, e.kind) as kind, coalesce(c.reason, e.reason) as reason,
           coalesce(c.schema_version, e.schema_version) as schema_version,
           coalesce(c.tracked_fare_id, e.tracked_fare_id) as fare_id, w.change_id, c.seq as change_seq, w.watch_event_id,
           farewatch_private.shown_belief(coalesce(c.before, e.before)) as belief_before,
           farewatch_private.shown_belief(coalesce(c.after, e.after)) as belief,
           coalesce(c.last_good_check_at, e.last_good_check_at) as last_good_check_at,
           coalesce(c.detected_at, e.detected_at) as detected_at, w.recorded_at
      from (values ${['(null::bigint, null::bigint)', ...values].join(', ')}) f (reseller_id, first)
      join farewatch_private.watch_change w on w.reseller_id = f.reseller_id and w.seq < f.first
      join farewatch_private.reseller r on r.id = w.reseller_id
      left join farewatch_private.availability_change c on c.id = w.change_id
      left join farewatch_private.watch_event e on e.id = w.watch_event_id`
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
 * Deletes the rows below the floors, in batches. Returns how many. Also finishes what an interrupted archive left.
 * Safe to run at any time: only files that were verified move the floors.
 */
export async function deleteArchived(
  db: Db,
  { signal, onDeleted }: DeleteOptions = {},
): Promise<number> {
  if ((await readHistoryFloor(db)) === null) return 0
  let deleted = 0
  for await (const rows of deletions(db)) {
    deleted += rows
    if (rows > 0) onDeleted?.(deleted)
    signal?.throwIfAborted()
  }
  return deleted
}

/** One batch after the other, each with its number of rows. Records of resellers cite changes, and are deleted before these. */
async function* deletions(db: Db): AsyncGenerator<number> {
  yield* deleteWatchChanges(db)
  yield* deleteRecords(db, { table: 'availability_change', feed: 'availability' })
  yield* deleteRecords(db, { table: 'route_change', feed: 'route' })
  for (const table of Object.keys(SUBJECTS_OF)) yield* deleteIntervals(db, table)
}

interface SeqRange {
  /** Null if there is no record. */
  readonly from: number | null
  /** The first one that stays. */
  readonly floor: number
}

async function* inRanges(
  { from, floor }: SeqRange,
  deleteRange: (from: number, to: number) => Promise<number>,
): AsyncGenerator<number> {
  for (let at = from ?? floor; at < floor; at += RECORDS) {
    yield await deleteRange(at, Math.min(floor, at + RECORDS))
  }
}

async function* deleteRecords(
  db: Db,
  { table, feed }: { readonly table: string; readonly feed: string },
): AsyncGenerator<number> {
  const range = await selectOne(
    sql<SeqRange>`
      select (select min(seq) from ${sql.table(table)}) as "from", first_seq as floor from feed_head where feed = ${feed}
    `,
    db,
  )
  yield* inRanges(range, (from, to) =>
    affected(sql`delete from ${sql.table(table)} where seq >= ${from} and seq < ${to}`, db),
  )
}

/** With the events that no record cites any more. */
async function* deleteWatchChanges(db: Db): AsyncGenerator<number> {
  const { rows } = await sql<SeqRange & { id: number }>`
    select id, first_seq as floor, (select min(seq) from watch_change where reseller_id = reseller.id) as "from"
      from reseller
     where first_seq > 1
     order by id
  `.execute(db)
  for (const { id, ...range } of rows) {
    yield* inRanges(range, (from, to) => deleteWatchRange(db, id, { from, to }))
  }
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
    await deleteUnusedEvents(tx, rows)
    return rows.length
  })
}

/** Goes by the first column of the subject: each statement finds its intervals by the index of the timelines. */
async function* deleteIntervals(db: Db, table: string): AsyncGenerator<number> {
  const column = sql.ref(SUBJECTS_OF[table]?.[0] ?? '')
  const { rows } = await sql<{ subject: string }>`
    select distinct ${column}::text as subject from ${sql.table(table)} where valid_to <= ${HISTORY_FLOOR}
  `.execute(db)
  for (let at = 0; at < rows.length; at += SUBJECTS) {
    const subjects = rows.slice(at, at + SUBJECTS).map(({ subject }) => subject)
    yield await affected(deletionOf(table, column, subjects), db)
  }
}

function deletionOf(
  table: string,
  column: RawBuilder<unknown>,
  subjects: readonly string[],
): RawBuilder<unknown> {
  const type = sql.raw(table === 'fare_belief_version' ? 'bigint[]' : 'text[]')
  const key = keyOf(table)
  const columns = (alias: string) => sql.join(key.map((name) => sql.ref(`${alias}.${name}`)))
  return sql`
    delete from ${sql.table(table)} v
     using ${sql.table(`archivable_${table}`)} a
     where a.${column} = any(${subjects}::${type}) and (${columns('v')}) = (${columns('a')})
       and a.valid_to <= ${HISTORY_FLOOR} and a.archivable_at <= ${HISTORY_FLOOR}
  `
}
