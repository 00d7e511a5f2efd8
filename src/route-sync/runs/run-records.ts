import type { RunStatus } from '../../base/kinds.ts'
import { type Db, type RawBuilder, sql, type Tx } from '../../db/database.ts'
import { selectOne } from '../../db/transaction.ts'
import type { RouteListBody, RouteListName } from '../../upstream/route-list.ts'
import {
  NO_COUNTS,
  type StageDurations,
  type SyncCounts,
  type SyncOutcome,
  type SyncReason,
} from './sync-run.ts'

/** The statuses of a run whose list was believed. */
export const ACCEPTED = sql`('applied', 'unchanged', 'approved')`

/** When the list of a run arrived; code before migration 0019 noted `fetched_at` alone. */
export const ARRIVED_AT = sql`coalesce(arrived_at, fetched_at)`

/** The run that a later one of the same list builds on. */
export interface AcceptedRun {
  readonly id: number
  /** The valid time of what it applied. */
  readonly fetchedAt: Date
  readonly arrivedAt: Date
  readonly bytes: number
  readonly contentHash: string
  readonly etag: string | null
  readonly lastModified: string | null
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
  const { id } = await selectOne(
    sql<{
      id: number
    }>`insert into sync_run (list) values (${list}) returning id`,
    db,
  )
  return id
}

/** The last run of a list that was applied or approved, or that brought the same bytes again; null before the first. */
export async function findLastAccepted(db: Db, list: RouteListName): Promise<AcceptedRun | null> {
  const { rows } = await sql<AcceptedRun>`
    select id, fetched_at as "fetchedAt", ${ARRIVED_AT} as "arrivedAt", bytes, content_hash as "contentHash",
           etag, last_modified as "lastModified", fetched, duplicates, conflicting_places as "conflictingPlaces"
      from sync_run
     where list = ${list} and status in ${ACCEPTED}
     order by fetched_at desc
     limit 1
  `.execute(db)
  return rows[0] ?? null
}

/** What a fetch brought: a list, or word that the last accepted one still stands. */
export interface Arrival extends Pick<RouteListBody, 'bytes' | 'contentHash' | 'validators'> {
  readonly notModified: boolean
}

/**
 * Notes that the list has arrived, and when by the database's clock: after the accepted one before it, whatever a clock
 * does. Whole milliseconds, which a JavaScript Date holds exactly.
 */
export async function recordArrival(db: Db, runId: number, arrival: Arrival): Promise<void> {
  const { etag, lastModified } = arrival.validators
  await sql`
    update sync_run r
       set bytes = ${arrival.bytes}, content_hash = ${arrival.contentHash}, fetched_at = now.instant,
           arrived_at = now.instant, not_modified = ${arrival.notModified}, etag = ${etag},
           last_modified = ${lastModified}
      from (select greatest(date_trunc('milliseconds', clock_timestamp()),
                            (select max(${ARRIVED_AT}) + interval '1 millisecond'
                               from sync_run
                              where status in ${ACCEPTED}
                                and list = (select list from sync_run where id = ${runId}))) as instant) now
     where r.id = ${runId}
  `.execute(db)
}

/** When a list arrived, and from when on it counts. */
export interface RunInstants {
  readonly arrivedAt: Date
  readonly fetchedAt: Date
}

/**
 * Fixes the valid time of all that the run will apply: when its list had arrived, but later than that of every
 * run applied before, so that no interval ends before it begins, whatever a clock does and whichever list came
 * first.
 */
export function assignValidTime(tx: Tx, runId: number): Promise<RunInstants> {
  return settleAt(tx, runId, sql`fetched_at`)
}

/** The same of a list that a person approves: from now on. What was answered of the hours since it came stays true. */
export function settleApprovedAt(tx: Tx, runId: number): Promise<RunInstants> {
  return settleAt(tx, runId, sql`clock_timestamp()`)
}

function settleAt(tx: Tx, runId: number, instant: RawBuilder<unknown>): Promise<RunInstants> {
  return selectOne(
    sql<RunInstants>`
      update sync_run
         set fetched_at = greatest(
               date_trunc('milliseconds', ${instant}),
               (select max(fetched_at) + interval '1 millisecond'
                  from sync_run where status in ${ACCEPTED}))
       where id = ${runId}
      returning fetched_at as "fetchedAt", date_trunc('milliseconds', ${ARRIVED_AT}) as "arrivedAt"
    `,
    tx,
  )
}

export interface RunEnd {
  readonly runId: number
  readonly list: RouteListName
  readonly status: RunStatus
  readonly baseline?: boolean
  readonly reason?: SyncReason
  /** The first run of the review that the list belongs to, where it was suspicious. */
  readonly reviewId?: number
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
           review_id = ${end.reviewId ?? null},
           fetched = ${counts.fetched}, duplicates = ${counts.duplicates},
           conflicting_places = ${counts.conflictingPlaces}, unknown_pairs = ${counts.unknownPairs},
           live = ${counts.live}, added = ${counts.added}, removed = ${counts.removed},
           returned = ${counts.returned}, pending_absences = ${counts.pendingAbsences},
           places_changed = ${counts.placesChanged}, gained = ${counts.gained}, lost = ${counts.lost},
           durations_ms = durations_ms || ${JSON.stringify(end.durationsMs)}
     where id = ${end.runId}
  `.execute(db)
  return {
    ...counts,
    runId: end.runId,
    list: end.list,
    status: end.status,
    baseline: end.baseline ?? false,
    reason: end.reason ?? null,
    ...(end.reviewId === undefined ? {} : { reviewId: end.reviewId }),
    durationsMs: end.durationsMs,
  }
}
