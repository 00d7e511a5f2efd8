import { type Db, sql, type Tx } from '../db/database.ts'
import { one } from '../db/transaction.ts'
import type { RouteListName } from '../upstream/route-list.ts'
import {
  NO_COUNTS,
  type StageDurations,
  type SyncCounts,
  type SyncOutcome,
  type SyncReason,
  type SyncStatus,
} from './sync-run.ts'

/** The run that a later one of the same list builds on. */
export interface AcceptedRun {
  readonly id: number
  readonly fetchedAt: Date
  readonly contentHash: string
  readonly fetched: number
  readonly duplicates: number
  readonly conflictingPlaces: number
}

/** Opens a run. The caller holds the list's lock, so a run of it without an end is a dead process's. */
export async function openRun(db: Db, list: RouteListName): Promise<number> {
  await sql`
    update sync_run
       set status = 'failed', finished_at = clock_timestamp(), reason_code = 'abandoned',
           reason = 'the process that ran it ended'
     where list = ${list} and status is null
  `.execute(db)
  const { id } = await one(
    sql<{
      id: number
    }>`insert into sync_run (list) values (${list}) returning id`,
    db,
  )
  return id
}

/** The last run of a list that was applied, or that brought the same bytes again; null before the first. */
export async function findLastAccepted(db: Db, list: RouteListName): Promise<AcceptedRun | null> {
  const { rows } = await sql<AcceptedRun>`
    select id, fetched_at as "fetchedAt", content_hash as "contentHash",
           fetched, duplicates, conflicting_places as "conflictingPlaces"
      from sync_run
     where list = ${list} and status in ('applied', 'unchanged')
     order by fetched_at desc
     limit 1
  `.execute(db)
  return rows[0] ?? null
}

/** Notes that the list has arrived, and when by the database's clock. */
export async function noteFetched(
  db: Db,
  runId: number,
  body: { readonly bytes: number; readonly contentHash: string },
): Promise<void> {
  await sql`
    update sync_run
       set bytes = ${body.bytes}, content_hash = ${body.contentHash}, fetched_at = clock_timestamp()
     where id = ${runId}
  `.execute(db)
}

/**
 * Fixes the valid time of all that the run will apply: when its list had arrived, but later than that of every
 * run applied before, so that no interval ends before it begins, whatever a clock does and whichever list came
 * first. Whole milliseconds, which a JavaScript Date holds exactly.
 */
export async function settleFetchedAt(tx: Tx, runId: number): Promise<Date> {
  const { fetchedAt } = await one(
    sql<{ fetchedAt: Date }>`
      update sync_run
         set fetched_at = greatest(
               date_trunc('milliseconds', fetched_at),
               (select max(fetched_at) + interval '1 millisecond'
                  from sync_run where status in ('applied', 'unchanged')))
       where id = ${runId}
      returning fetched_at as "fetchedAt"
    `,
    tx,
  )
  return fetchedAt
}

export interface RunEnd {
  readonly runId: number
  readonly list: RouteListName
  readonly status: SyncStatus
  readonly baseline?: boolean
  readonly reason?: SyncReason
  readonly counts?: Partial<SyncCounts>
  readonly durationsMs: StageDurations
}

/** Ends a run, in the transaction that applies it, or alone where nothing is applied. */
export async function closeRun(db: Db, end: RunEnd): Promise<SyncOutcome> {
  const counts = { ...NO_COUNTS, ...end.counts }
  await sql`
    update sync_run
       set status = ${end.status}, finished_at = clock_timestamp(), baseline = ${end.baseline ?? false},
           reason_code = ${end.reason?.code ?? null}, reason = ${end.reason?.text ?? null},
           fetched = ${counts.fetched}, duplicates = ${counts.duplicates},
           conflicting_places = ${counts.conflictingPlaces}, unknown_pairs = ${counts.unknownPairs},
           live = ${counts.live}, added = ${counts.added}, removed = ${counts.removed},
           returned = ${counts.returned}, pending_absences = ${counts.pendingAbsences},
           places_changed = ${counts.placesChanged}, gained = ${counts.gained}, lost = ${counts.lost},
           durations_ms = ${JSON.stringify(end.durationsMs)}
     where id = ${end.runId}
  `.execute(db)
  return {
    ...counts,
    runId: end.runId,
    list: end.list,
    status: end.status,
    baseline: end.baseline ?? false,
    reason: end.reason ?? null,
    durationsMs: end.durationsMs,
  }
}

/** A normal list shows that what was held before it was an accident. */
export async function dropHeldRuns(tx: Tx, list: RouteListName): Promise<void> {
  await sql`
    update sync_run set status = 'dropped' where list = ${list} and status = 'held'
  `.execute(tx)
}
