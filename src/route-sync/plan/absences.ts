import type { RouteListName } from '../../base/kinds.ts'
import { type RawBuilder, sql, type Tx } from '../../db/database.ts'
import { affected, selectOne } from '../../db/transaction.ts'

/** What applying a list needs to know of its run. */
export interface ApplyArgs {
  readonly runId: number
  /** The valid time of what is applied. */
  readonly fetchedAt: Date
  readonly arrivedAt: Date
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

type Of<Fields extends keyof ApplyArgs> = Pick<ApplyArgs, Fields> & { readonly list: RouteListName }

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

/** A subquery of one row: routes in `snapshot_missing`, those newly absent, and those that one more absence confirms. */
export function countMissing(list: RouteListName, confirmations: number): RawBuilder<unknown> {
  return sql`
    (select count(*) as missing,
            count(*) filter (where a.absences is null) as newly_absent,
            count(*) filter (where coalesce(a.absences, 0) + 1 >= ${confirmations}) as confirmed
       from snapshot_missing s
       left join pending_absence a
              on a.list = ${list}
             and (a.departure_id, a.destination_id) = (s.departure_id, s.destination_id))`
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
         set valid_to = ${fetchedAt}
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

export async function countPending(tx: Tx, list: RouteListName): Promise<number> {
  const { count } = await tx
    .selectFrom('pending_absence')
    .select((query) => query.fn.countAll<number>().as('count'))
    .where('list', '=', list)
    .executeTakeFirstOrThrow()
  return count
}
