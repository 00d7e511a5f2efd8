import { ROUTE_LISTS, type RouteListName, RUN_STATUSES } from '../../platform/base/kinds.ts'
import { type Db, sql } from '../../platform/db/database.ts'
import { selectOne } from '../../platform/db/transaction.ts'
import type { Metrics } from '../../platform/metrics/metrics.ts'
import { ACCEPTED, ARRIVED_AT } from '../runs.ts'

/** Freshness of one list, for gauges and status. */
interface SyncState {
  readonly list: RouteListName
  readonly lastSuccessAt: Date | null
  readonly lastAttemptAt: Date | null
  readonly held: number
}

export async function readSyncStates(db: Db): Promise<SyncState[]> {
  const { rows } = await sql<SyncState>`
    select list.name as list,
           (select max(${ARRIVED_AT}) from sync_run where sync_run.list = list.name and status in ${ACCEPTED}) as "lastSuccessAt",
           (select max(started_at) from sync_run where sync_run.list = list.name) as "lastAttemptAt",
           (select count(*) from sync_run where sync_run.list = list.name and status = 'held') as held
      from unnest(${ROUTE_LISTS}::text[]) list (name)
  `.execute(db)
  return rows
}

/** Counts the runs of each list by status; 0 if there is none. */
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

export function countRoutes(db: Db): Promise<{ live: number; available: number }> {
  return selectOne(
    sql<{ live: number; available: number }>`
      select (select count(*) from route_version where valid_to is null) as live,
             (select count(*) from route_availability_version where valid_to is null and available) as available
    `,
    db,
  )
}

/** Sets the gauges of route sync from the database. */
export async function readSyncGauges(db: Db, metrics: Metrics): Promise<void> {
  for (const { list, lastSuccessAt, lastAttemptAt, held } of await readSyncStates(db)) {
    metrics.syncLastSuccess.set({ list }, seconds(lastSuccessAt))
    metrics.syncLastAttempt.set({ list }, seconds(lastAttemptAt))
    metrics.syncHeld.set({ list }, held)
  }
  for (const { list, status, count } of await countRuns(db)) {
    metrics.syncRunsRecorded.set({ list, status }, count)
  }
  const { live, available } = await countRoutes(db)
  metrics.routesLive.set(live)
  metrics.routesAvailable.set(available)
}

function seconds(instant: Date | null): number {
  return instant === null ? 0 : instant.getTime() / 1000
}
