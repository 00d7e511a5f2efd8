import type { RouteChangeKind } from '../platform/base/change-kinds.ts'
import type { RouteListName, RunResolution, RunStatus } from '../platform/base/kinds.ts'
import { span } from '../platform/base/tracing.ts'
import { type Db, type RawBuilder, sql, type Tx } from '../platform/db/database.ts'
import { findLockHolder } from '../platform/db/session-lock.ts'
import { selectOne } from '../platform/db/transaction.ts'
import type { RouteListBody } from '../upstream/route-list.ts'
import type { UpstreamWait } from '../upstream/upstream-errors.ts'
import { ListBusyError, RunNotFoundError } from './errors.ts'

/** Milliseconds that each stage of a run took; a stage that was not reached is missing. */
type StageDurations = Partial<Record<'fetch' | 'stage' | 'diff' | 'apply', number>>

/** Why a run was held, rejected or failed: a stable code, and a sentence for people. */
export interface SyncReason {
  readonly code: string
  readonly text: string
  /** Whether the same request may succeed a little later. */
  readonly retryable?: boolean
  /** Set if the upstream asked us to wait, or its circuit breaker is open: when to request again. */
  readonly wait?: UpstreamWait
}

/** The counts of a run that ended before it counted anything. */
export const NO_COUNTS = {
  /** Routes in the list, duplicates included. */
  fetched: null,
  duplicates: null,
  /** Places that the list gave with different attributes. */
  conflictingPlaces: null,
  /** Pairs of a `with-availability` list that are not among the routes. */
  unknownPairs: null,
  /** Live routes after the run; of `with-availability`, available ones. */
  live: null,
  added: null,
  removed: null,
  /** Routes that were absent and returned before the absence was confirmed. */
  returned: null,
  pendingAbsences: null,
  placesChanged: null,
  /** Places whose new attributes await confirmation. */
  pendingPlaces: null,
  gained: null,
  lost: null,
}

/** The counts of a run. A count is null if the run ended before it was made. */
export type SyncCounts = Readonly<Record<keyof typeof NO_COUNTS, number | null>>

/** What a held list would have done if it had been approved at once; null for a list that was not held. */
interface HeldEffect {
  /** Routes that it would have added; of `with-availability`, made available. */
  readonly wouldAdd: number | null
  /** Routes that it would have removed; of `with-availability`, made unavailable. */
  readonly wouldRemove: number | null
}

/** The result of a run. */
export interface SyncOutcome extends SyncCounts {
  readonly runId: number
  readonly list: RouteListName
  readonly status: RunStatus
  readonly baseline: boolean
  readonly reason: SyncReason | null
  /** Of a list that was held: agreeing lists in a row, this one included. */
  readonly agreeingLists?: number
  readonly durationsMs: StageDurations
}

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

interface RunEnd {
  readonly runId: number
  readonly list: RouteListName
  readonly status: RunStatus
  readonly baseline?: boolean
  readonly reason?: SyncReason | null | undefined
  /** Lists that had to lack a route, if the list was accepted. */
  readonly confirmations?: number
  /** What a held list would do. It stays with the run, whatever is decided. */
  readonly held?: HeldEffect
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
      ...(end.held && { would_add: end.held.wouldAdd, would_remove: end.held.wouldRemove }),
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

interface Dropping {
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

/** The statuses of a run whose list was accepted. */
export const ACCEPTED = sql`('applied', 'unchanged', 'approved')`

/** When the list of a run arrived; runs of an early version have `fetched_at` alone. */
export const ARRIVED_AT = sql<Date | null>`coalesce(arrived_at, fetched_at)`

/** The run that a later one of the same list builds on. `fetchedAt` is the valid time of what it applied. */
export type AcceptedRun = NonNullable<Awaited<ReturnType<typeof findLastAccepted>>>

/** The last accepted run of a list; null before the first. */
export async function findLastAccepted(db: Db, list: RouteListName) {
  const run = await db
    .selectFrom('sync_run')
    .select([
      'id',
      'fetched_at as fetchedAt',
      ARRIVED_AT.as('arrivedAt'),
      'bytes',
      'content_hash as contentHash',
      'etag',
      'last_modified as lastModified',
      'fetched',
      'duplicates',
      'conflicting_places as conflictingPlaces',
    ])
    .where('list', '=', list)
    .where(sql<boolean>`status in ${ACCEPTED}`)
    .orderBy('fetched_at', 'desc')
    .limit(1)
    .$narrowType<{
      fetchedAt: Date
      arrivedAt: Date
      bytes: number
      contentHash: string
      fetched: number
      duplicates: number
      conflictingPlaces: number
    }>()
    .executeTakeFirst()
  return run ?? null
}

/** Whether a run since an instant got a list, and whether any has begun since then. */
export function readAttempts(
  db: Db,
  list: RouteListName,
  since: Date,
): Promise<{ readonly gotList: boolean; readonly began: boolean }> {
  return selectOne(
    sql<{ gotList: boolean; began: boolean }>`
      select coalesce(bool_or(status not in ('failed', 'rejected')), false) as "gotList",
             count(*) > 0 as began
        from sync_run
       where list = ${list} and started_at >= ${since}
    `,
    db,
  )
}

/** The runs since an instant that got a list with this hash and failed or died. An interrupted run does not count. */
export async function findFailedWith(
  db: Db,
  { list, contentHash, since }: { list: RouteListName; contentHash: string; since: Date },
): Promise<number[]> {
  const runs = await db
    .selectFrom('sync_run')
    .select('id')
    .where('list', '=', list)
    .where('started_at', '>=', since)
    .where('content_hash', '=', contentHash)
    .where('status', '=', 'failed')
    .where('reason_code', '<>', 'interrupted')
    .orderBy('id')
    .execute()
  return runs.map(({ id }) => id)
}

/** Whether a run has added or removed routes after an instant. */
export async function routesChangedSince(db: Db, instant: Date): Promise<boolean> {
  const run = await db
    .selectFrom('sync_run')
    .select('id')
    .where('list', '=', 'routes')
    .where(sql<boolean>`status in ${ACCEPTED}`)
    .where('fetched_at', '>', instant)
    .where(sql<boolean>`added + removed > 0`)
    .limit(1)
    .executeTakeFirst()
  return run !== undefined
}

/** The unfinished run of a list; its process may have ended. */
export async function findOpenRun(
  db: Db,
  list: RouteListName,
): Promise<{ readonly runId: number; readonly startedAt: Date } | undefined> {
  return db
    .selectFrom('sync_run')
    .select(['id as runId', 'started_at as startedAt'])
    .where('list', '=', list)
    .where('status', 'is', null)
    .orderBy('id', 'desc')
    .limit(1)
    .executeTakeFirst()
}

/** Finished runs, as listings show them. */
export function selectFinished(db: Db) {
  return db
    .selectFrom('sync_run')
    .select([
      'id as runId',
      'list',
      'status',
      'baseline',
      'started_at as startedAt',
      ARRIVED_AT.as('arrivedAt'),
      'fetched_at as validAt',
      'finished_at as finishedAt',
      'bytes',
      'fetched',
      'duplicates',
      'conflicting_places as conflictingPlaces',
      'unknown_pairs as unknownPairs',
      'live',
      'added',
      'removed',
      'returned',
      'pending_absences as pendingAbsences',
      'places_changed as placesChanged',
      'pending_places as pendingPlaces',
      'gained',
      'lost',
      'durations_ms as durationsMs',
      sql<SyncReason | null>`
        case when reason_code is not null then jsonb_build_object('code', reason_code, 'text', reason) end
      `.as('reason'),
      'content_hash as contentHash',
      'would_add as wouldAdd',
      'would_remove as wouldRemove',
    ])
    .where('status', 'is not', null)
    .$narrowType<{ status: RunStatus; finishedAt: Date }>()
}

interface SyncRunPage {
  readonly list?: RouteListName | undefined
  readonly statuses?: readonly RunStatus[] | undefined
  readonly limit: number
  /** The last run of the page before. */
  readonly after?: number | undefined
}

/** Finished runs of one list or of both, the newest first. */
export async function listSyncRuns(
  db: Db,
  { list, statuses, limit, after }: SyncRunPage,
): Promise<SyncRunRow[]> {
  let runs = selectFinished(db)
  if (list !== undefined) runs = runs.where('list', '=', list)
  if (statuses !== undefined) runs = runs.where('status', 'in', statuses)
  if (after !== undefined) {
    runs = runs.where(
      sql<boolean>`(started_at, id) < (select started_at, id from sync_run where id = ${after})`,
    )
  }
  return runs.orderBy('started_at', 'desc').orderBy('id', 'desc').limit(limit).execute()
}

/** A finished run, as listings show it. */
export type SyncRunRow = NonNullable<Awaited<ReturnType<typeof findFinishedRun>>>

/** One finished run; undefined while it is under way. */
export async function findFinishedRun(db: Db, runId: number) {
  return selectFinished(db).where('id', '=', runId).executeTakeFirst()
}

/** Everything that is known of a run. Throws RunNotFoundError, also for a run that is under way. */
export async function showRun(db: Db, runId: number) {
  const run = await selectFinished(db)
    .select([
      'not_modified as notModified',
      'etag',
      'last_modified as lastModified',
      'resolution',
      'resolved_at as resolvedAt',
      'resolved_by as resolvedBy',
      sql<number | null>`
        (select s.stored_bytes from snapshot s where s.content_hash = sync_run.content_hash)
      `.as('storedBytes'),
      sql<Partial<Record<RouteChangeKind, number>>>`
        (select coalesce(jsonb_object_agg(c.kind, c.count), '{}')
           from (select kind, count(*) from route_change where sync_run_id = sync_run.id group by kind) c)
      `.as('changes'),
    ])
    .where('id', '=', runId)
    .executeTakeFirst()
  if (run === undefined) throw new RunNotFoundError(runId)
  return run
}
