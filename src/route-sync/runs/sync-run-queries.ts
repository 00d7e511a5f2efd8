import { RUN_STATUSES, type RunStatus } from '../../base/kinds.ts'
import { type Db, sql } from '../../db/database.ts'
import { ROUTE_LISTS, type RouteListName } from '../../upstream/route-list.ts'
import { ACCEPTED, ARRIVED_AT } from './run-records.ts'
import type { SyncOutcome } from './sync-run.ts'

/** A finished run, as listings show it. */
export interface SyncRunRow extends SyncOutcome {
  readonly startedAt: Date
  /** When its list had arrived. */
  readonly arrivedAt: Date | null
  /** The valid time of what it applied: when the list had arrived, or was approved. */
  readonly fetchedAt: Date | null
  readonly finishedAt: Date
  readonly bytes: number | null
  readonly contentHash: string | null
}

const RUN_COLUMNS = sql`
  id as "runId", list, status, baseline, started_at as "startedAt",
  ${ARRIVED_AT} as "arrivedAt", fetched_at as "fetchedAt",
  finished_at as "finishedAt", bytes, fetched, duplicates, conflicting_places as "conflictingPlaces",
  unknown_pairs as "unknownPairs", live, added, removed, returned, pending_absences as "pendingAbsences",
  places_changed as "placesChanged", gained, lost, durations_ms as "durationsMs",
  case when reason_code is not null then jsonb_build_object('code', reason_code, 'text', reason) end as reason,
  review_id as "reviewId", content_hash as "contentHash"
`

export interface SyncRunPage {
  readonly list?: RouteListName | undefined
  readonly statuses?: readonly RunStatus[] | undefined
  readonly limit: number
  /** The last run of the page before. */
  readonly after?: number | undefined
}

/** The newest finished runs first, of one list or of both. */
export async function listSyncRuns(
  db: Db,
  { list, statuses, limit, after }: SyncRunPage,
): Promise<SyncRunRow[]> {
  const { rows } = await sql<SyncRunRow>`
    select ${RUN_COLUMNS}
      from sync_run
     where status is not null and (${list ?? null}::text is null or list = ${list ?? null})
       and (${statuses ?? null}::text[] is null or status = any(${statuses ?? null}))
       and (${after === undefined} or (started_at, id) < (select started_at, id from sync_run where id = ${after ?? 0}))
     order by started_at desc, id desc
     limit ${limit}
  `.execute(db)
  return rows
}

/** One finished run; undefined while it is under way. */
export async function findFinishedRun(db: Db, runId: number): Promise<SyncRunRow | undefined> {
  const { rows } = await sql<SyncRunRow>`
    select ${RUN_COLUMNS} from sync_run where id = ${runId} and status is not null
  `.execute(db)
  return rows[0]
}

/** The run of a list that is under way, or that a dead process left behind. */
export async function findOpenRun(
  db: Db,
  list: RouteListName,
): Promise<{ readonly runId: number; readonly startedAt: Date } | undefined> {
  const { rows } = await sql<{ runId: number; startedAt: Date }>`
    select id as "runId", started_at as "startedAt"
      from sync_run where list = ${list} and status is null order by id desc limit 1
  `.execute(db)
  return rows[0]
}

/** Whether a run has added or removed routes after an instant. */
export async function routesChangedSince(db: Db, instant: Date): Promise<boolean> {
  const { rows } = await sql<{ id: number }>`
    select id from sync_run
     where list = 'routes' and status in ${ACCEPTED} and fetched_at > ${instant} and added + removed > 0
     limit 1
  `.execute(db)
  return rows.length > 0
}

/** Whether a run that got a list began at an instant or since. */
export async function hasRunSince(db: Db, list: RouteListName, instant: Date): Promise<boolean> {
  const { rows } = await sql<{ id: number }>`
    select id from sync_run
     where list = ${list} and started_at >= ${instant} and status not in ('failed', 'rejected')
     limit 1
  `.execute(db)
  return rows.length > 0
}

/** What is held for review, the oldest first; a part of it where a page is asked for. */
export async function listHeldRuns(
  db: Db,
  { after = 0, limit }: { readonly after?: number | undefined; readonly limit?: number } = {},
): Promise<SyncRunRow[]> {
  const { rows } = await sql<SyncRunRow>`
    select ${RUN_COLUMNS} from sync_run where status = 'held' and id > ${after} order by id limit ${limit ?? null}
  `.execute(db)
  return rows
}

/** How many runs of each list stand at which status, whichever process ran or decided them; 0 where none does. */
export async function countRuns(
  db: Db,
): Promise<{ readonly list: string; readonly status: string; readonly count: number }[]> {
  const { rows } = await sql<{ list: string; status: string; count: number }>`
    select list, status, count(r.id) as count
      from unnest(${ROUTE_LISTS}::text[]) list
     cross join unnest(${RUN_STATUSES}::text[]) status
      left join sync_run r using (list, status)
     group by list, status
  `.execute(db)
  return rows
}

/** The runs that are held under one review, in their order. */
export async function listReviewRuns(db: Db, reviewId: number): Promise<number[]> {
  const { rows } = await sql<{ id: number }>`
    select id from sync_run where review_id = ${reviewId} and status = 'held' order by id
  `.execute(db)
  return rows.map(({ id }) => id)
}
