import type { RouteChangeKind, RouteListName, RunStatus } from '../../platform/base/kinds.ts'
import { type Db, sql } from '../../platform/db/database.ts'
import { RunNotFoundError } from './sync-errors.ts'
import type { SyncReason } from './sync-run.ts'

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

/** Whether a run that got a list has started at or after an instant. */
export async function hasRunSince(db: Db, list: RouteListName, instant: Date): Promise<boolean> {
  const run = await db
    .selectFrom('sync_run')
    .select('id')
    .where('list', '=', list)
    .where('started_at', '>=', instant)
    .where('status', 'not in', ['failed', 'rejected'])
    .limit(1)
    .executeTakeFirst()
  return run !== undefined
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
      'fetched_at as fetchedAt',
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

export interface SyncRunPage {
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

export type ShownRun = Awaited<ReturnType<typeof showRun>>

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
