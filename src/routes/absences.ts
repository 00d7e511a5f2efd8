import type { RouteChangeKind } from '../platform/base/change-kinds.ts'
import type { RouteListName } from '../platform/base/kinds.ts'
import { type RawBuilder, sql, type Tx } from '../platform/db/database.ts'
import { affected, selectOne } from '../platform/db/transaction.ts'
import { DEPARTURE_ROUTES, HISTORY_DAYS, type LossHistory, type SnapshotDiff } from './guard.ts'
import { ACCEPTED, ARRIVED_AT, type RunInstants } from './runs.ts'

/** What applying a list needs to know of its run. */
export interface ApplyArgs extends RunInstants {
  readonly runId: number
  /** When the accepted list before this one arrived; null for the baseline, which records no changes. */
  readonly previousAt: Date | null
  /** Lists that must lack a route before its absence is confirmed. */
  readonly confirmations: number
  /** Agreeing lists that are accepted together, this one included; 1 for a list that is accepted alone. */
  readonly lists: number
}

/** The routes that a list may lack. */
export const LIVE: Readonly<Record<RouteListName, RawBuilder<unknown>>> = {
  routes: sql`(select departure_id, destination_id from route_version where valid_to is null)`,
  'with-availability': sql`(select departure_id, destination_id
                              from route_availability_version where valid_to is null and available)`,
}

export interface ListArgs extends ApplyArgs {
  readonly list: RouteListName
}

type Of<Fields extends keyof ApplyArgs> = Pick<ListArgs, Fields | 'list'>

/** Deletes the absences of routes that are no longer in `snapshot_missing`. Returns how many. */
export async function deleteReturned(tx: Tx, list: RouteListName): Promise<number> {
  return affected(
    sql`
      delete from pending_absence p
       where p.list = ${list}
         and not exists (select from snapshot_missing m
                          where (m.departure_id, m.destination_id) = (p.departure_id, p.destination_id))
    `,
    tx,
  )
}

/** Counts the absences of every route in `snapshot_missing`. */
export async function advanceAbsences(
  tx: Tx,
  args: Of<'arrivedAt' | 'previousAt' | 'lists'>,
): Promise<void> {
  await sql`
    insert into pending_absence (list, departure_id, destination_id, absences, last_seen_at, first_missed_at)
    select ${args.list}, m.departure_id, m.destination_id, ${absenceIncrement(args)},
           ${args.previousAt ?? args.arrivedAt}::timestamptz, ${args.arrivedAt}::timestamptz
      from snapshot_missing m
        on conflict (list, departure_id, destination_id)
        do update set absences = pending_absence.absences + excluded.absences
  `.execute(tx)
}

/**
 * One absence for each of the lists that are accepted together; one in all if the list that this one was compared with
 * (`compared_route`) still held the route.
 */
function absenceIncrement({ lists }: Pick<ApplyArgs, 'lists'>): RawBuilder<unknown> {
  if (lists === 1) return sql`1`
  return sql`case when exists (select from compared_route c
                                where (c.departure_id, c.destination_id) = (m.departure_id, m.destination_id))
                  then 1 else ${lists}::integer end`
}

/** What a list lacks, and what the lists of the last 24 hours lacked. */
export type Losses = Pick<
  SnapshotDiff,
  'missing' | 'newlyAbsent' | 'absentLastDay' | 'emptied' | 'removedLastDay'
> & {
  /** Routes that one more absence confirms. */
  readonly confirmed: number
}

const LOSS_KINDS: Readonly<Record<RouteListName, RouteChangeKind>> = {
  routes: 'route_removed',
  'with-availability': 'route_lost_availability',
}

/** Counts the routes in `snapshot_missing`, and the removals of the last 24 hours that still hold. */
export async function countLosses(
  tx: Tx,
  list: RouteListName,
  confirmations: number,
): Promise<Losses> {
  return selectOne(
    sql<Losses>`
      with day_ago as materialized (select clock_timestamp() - interval '24 hours' as instant),
           missing as materialized (
             select m.departure_id, m.destination_id, a.absences,
                    a.absences is null or a.first_missed_at > instant as is_recent
               from snapshot_missing m
               cross join day_ago
               left join pending_absence a
                      on a.list = ${list}
                     and (a.departure_id, a.destination_id) = (m.departure_id, m.destination_id)),
           removed as (
             select c.departure_id, c.destination_id, bool_or(c.first_missed_at > instant) as is_recent
               from day_ago
               join sync_run r on r.fetched_at > instant
               join route_change c on c.sync_run_id = r.id
              where r.list = ${list} and r.status = 'applied' and r.reason_code is distinct from 'agreed'
                and c.kind = ${LOSS_KINDS[list]}
                and not exists (select from ${LIVE[list]} l
                                 where (l.departure_id, l.destination_id) = (c.departure_id, c.destination_id))
              group by c.departure_id, c.destination_id)
      select count(*) as missing,
             count(*) filter (where absences is null) as "newlyAbsent",
             count(*) filter (where coalesce(absences, 0) + 1 >= ${confirmations}) as confirmed,
             count(*) filter (where is_recent) + (select count(*) from removed where is_recent) as "absentLastDay",
             (select count(*) from removed) as "removedLastDay",
             (select count(*)
                from (select departure_id, count(*) as routes from missing
                       group by departure_id having count(*) >= ${DEPARTURE_ROUTES} and bool_or(is_recent)) d
               where d.routes = (select count(*) from ${LIVE[list]} l where l.departure_id = d.departure_id))
               as emptied
        from missing
    `,
    tx,
  )
}

/** Reads how many routes the accepted lists of a kind removed day by day. */
export async function readLossHistory(tx: Tx, list: RouteListName): Promise<LossHistory> {
  return selectOne(
    sql<LossHistory>`
      with accepted as (
             select (fetched_at at time zone 'UTC')::date as day, max(${ARRIVED_AT}) as arrived_at,
                    max(live + removed + lost - added - gained) as live,
                    coalesce(sum(removed + lost) filter (where status <> 'approved'
                                                           and reason_code is distinct from 'agreed'), 0) as removed
               from sync_run
              where list = ${list} and status in ${ACCEPTED}
              group by 1
              order by 1 desc
              limit ${HISTORY_DAYS}),
           spaced as (
             select *, day - lag(day, 1, day - 1) over (order by day) as days from accepted)
      select coalesce(json_agg(json_build_object('days', days, 'live', live, 'removed', removed)), '[]') as accepted,
             coalesce(extract(epoch from clock_timestamp() - max(arrived_at)) / 86400, 0)::float8 as "daysSinceLast"
        from spaced
    `,
    tx,
  )
}

/** Counts the routes in `snapshot_missing` whose absence would be confirmed by lists that are accepted together. */
export async function countConfirmed(tx: Tx, args: Of<'confirmations' | 'lists'>): Promise<number> {
  const { count } = await selectOne(
    sql<{ count: number }>`
      select count(*) as count
        from snapshot_missing m
        left join pending_absence a
               on a.list = ${args.list}
              and (a.departure_id, a.destination_id) = (m.departure_id, m.destination_id)
       where coalesce(a.absences, 0) + ${absenceIncrement(args)} >= ${args.confirmations}
    `,
    tx,
  )
  return count
}

/** Ends the availability of every route whose absence is confirmed. Returns how many intervals ended. */
export async function closeAvailability(
  tx: Tx,
  { list, confirmations, fetchedAt }: Of<'confirmations' | 'fetchedAt'>,
): Promise<number> {
  return affected(
    sql`
      update route_availability_version v
         set valid_to = ${fetchedAt}, written_in = pg_current_xact_id()
        from pending_absence p
       where p.list = ${list} and p.absences >= ${confirmations}
         and (v.departure_id, v.destination_id) = (p.departure_id, p.destination_id)
         and v.valid_to is null
    `,
    tx,
  )
}

/** Deletes the absences that were confirmed and applied. */
export async function deleteConfirmed(
  tx: Tx,
  { list, confirmations }: Of<'confirmations'>,
): Promise<void> {
  await tx
    .deleteFrom('pending_absence')
    .where('list', '=', list)
    .where('absences', '>=', confirmations)
    .execute()
}

export async function countPendingAbsences(tx: Tx, list: RouteListName): Promise<number> {
  const { count } = await tx
    .selectFrom('pending_absence')
    .select((query) => query.fn.countAll<number>().as('count'))
    .where('list', '=', list)
    .executeTakeFirstOrThrow()
  return count
}
