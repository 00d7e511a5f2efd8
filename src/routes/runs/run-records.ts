import type { RouteListName, RunResolution, RunStatus } from '../../platform/base/kinds.ts'
import { span } from '../../platform/base/tracing.ts'
import { type Db, type RawBuilder, sql, type Tx } from '../../platform/db/database.ts'
import { findLockHolder } from '../../platform/db/session-lock.ts'
import { selectOne } from '../../platform/db/transaction.ts'
import type { RouteListBody } from '../../upstream/route-list.ts'
import { ListBusyError } from './sync-errors.ts'
import {
  type HeldEffect,
  NO_COUNTS,
  type StageDurations,
  type SyncCounts,
  type SyncOutcome,
  type SyncReason,
} from './sync-run.ts'
import { ACCEPTED, ARRIVED_AT } from './sync-run-queries.ts'

/** The name of a list's lock. One process at a time, of all, runs a list or decides about it. */
export function listLock(list: RouteListName): string {
  return `route-sync:${list}`
}

/** A wait for a list's lock ends after this time: a run takes minutes at most. */
export const LIST_WAIT_MS = 300_000

/** Names the session that holds the list's lock. It may belong to another program, such as an analyst's. */
export async function listBusyError(db: Db, list: RouteListName): Promise<ListBusyError> {
  return new ListBusyError(list, await findLockHolder(db, listLock(list)))
}

/** Times the stages of one run. */
export interface Stopwatch {
  time<T>(stage: keyof StageDurations, work: () => Promise<T>): Promise<T>
  durations(): StageDurations
}

export function createStopwatch(): Stopwatch {
  const durations: StageDurations = {}
  return {
    async time(stage, work) {
      const start = performance.now()
      try {
        return await span(`sync ${stage}`, {}, work)
      } finally {
        durations[stage] = Math.round(performance.now() - start)
      }
    },
    durations: () => ({ ...durations }),
  }
}

const NOW = sql<Date>`clock_timestamp()`
/** Set by each statement that changes what `farewatch.sync_runs` shows of an ended run. */
export const WRITTEN_NOW = { written_in: sql<string>`pg_current_xact_id()` }

/** Opens a run. The caller holds the list's lock, so an unfinished run of the list was left by a process that ended. */
export async function openRun(db: Db, list: RouteListName): Promise<number> {
  await db
    .updateTable('sync_run')
    .set({
      ...WRITTEN_NOW,
      status: 'failed',
      finished_at: NOW,
      reason_code: 'abandoned',
      reason: 'the process that ran it ended',
    })
    .where('list', '=', list)
    .where('status', 'is', null)
    .execute()
  const run = db.insertInto('sync_run').values({ list }).returning('id')
  return (await run.executeTakeFirstOrThrow()).id
}

/** A fetched list, or the last accepted one if the upstream answered that it is not modified. */
export interface Arrival extends Pick<RouteListBody, 'bytes' | 'contentHash' | 'validators'> {
  readonly notModified: boolean
}

/**
 * Records that the list of a run has arrived, at the time of the database's clock but later than the last accepted
 * list, even if the clock steps back. In whole milliseconds, which a JavaScript Date holds exactly.
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

/** When a list arrived, and the valid time of what it changes. */
export interface RunInstants {
  readonly arrivedAt: Date
  readonly fetchedAt: Date
}

/**
 * Assigns the valid time of everything that the run applies: when its list arrived, or `instant`, but later than that
 * of every accepted run. So no interval ends before it begins, even if a clock steps back or two lists overtake each
 * other.
 */
export function assignValidTime(
  tx: Tx,
  runId: number,
  instant: RawBuilder<unknown> = sql`fetched_at`,
): Promise<RunInstants> {
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
  readonly reason?: SyncReason | null | undefined
  /** The agreeing lists that were accepted together, if there are several. */
  readonly agreed?: { readonly lists: number; readonly firstRunId: number } | null
  /** Lists that had to lack a route, if the list was accepted. */
  readonly confirmations?: number
  readonly counts?: Partial<SyncCounts>
  readonly durationsMs: StageDurations
}

/** Ends a run: in the transaction that applies it, or in its own if nothing is applied. */
export async function closeRun(db: Db, end: RunEnd): Promise<SyncOutcome> {
  const { runId, list, status, baseline = false, reason = null, durationsMs } = end
  const counts = { ...NO_COUNTS, ...end.counts }
  await db
    .updateTable('sync_run')
    .set({
      ...WRITTEN_NOW,
      status,
      finished_at: NOW,
      baseline,
      reason_code: reason?.code ?? null,
      reason: reason?.text ?? null,
      agreed_lists: end.agreed?.lists ?? null,
      agreed_with: end.agreed?.firstRunId ?? null,
      confirmations: end.confirmations ?? null,
      fetched: counts.fetched,
      duplicates: counts.duplicates,
      conflicting_places: counts.conflictingPlaces,
      unknown_pairs: counts.unknownPairs,
      live: counts.live,
      added: counts.added,
      removed: counts.removed,
      returned: counts.returned,
      pending_absences: counts.pendingAbsences,
      places_changed: counts.placesChanged,
      pending_places: counts.pendingPlaces,
      gained: counts.gained,
      lost: counts.lost,
      durations_ms: sql`durations_ms || ${JSON.stringify(durationsMs)}::jsonb`,
    })
    .where('id', '=', runId)
    .execute()
  return {
    ...counts,
    runId,
    list,
    status,
    baseline,
    reason,
    durationsMs,
  }
}

/** Records what a held list would do. It stays with the run, whatever is decided. */
export async function recordHeldEffect(
  tx: Tx,
  runId: number,
  { wouldAdd, wouldRemove }: HeldEffect,
): Promise<void> {
  await tx
    .updateTable('sync_run')
    .set({ ...WRITTEN_NOW, would_add: wouldAdd, would_remove: wouldRemove })
    .where('id', '=', runId)
    .execute()
}

export interface Dropping {
  readonly list: RouteListName
  readonly resolution: Exclude<RunResolution, 'approved'>
  /** The run whose list decided it; null if an operator did. */
  readonly resolvedBy: number | null
}

/** Drops the held run of a list, if there is one; it keeps the reason that it was held for. */
export async function dropHeldRun(
  tx: Tx,
  { list, resolution, resolvedBy }: Dropping,
): Promise<void> {
  const resolved = { resolution, resolved_at: NOW, resolved_by: resolvedBy }
  await tx
    .updateTable('sync_run')
    .set({ ...WRITTEN_NOW, ...resolved, status: 'dropped' })
    .where('list', '=', list)
    .where('status', '=', 'held')
    .execute()
}
