import { type RawBuilder, sql, type Tx } from '../../db/database.ts'
import { affected, selectOne } from '../../db/transaction.ts'
import type { RouteListName } from '../../upstream/route-list.ts'

export interface AbsenceArgs {
  readonly list: RouteListName
  readonly arrivedAt: Date
  /** When the accepted snapshot before this one arrived: the last that showed what is now missing. */
  readonly previousAt: Date | null
  /** How many lists that agree are accepted with this one; 1 where it is accepted alone. */
  readonly lists: number
}

/** Forgets the absences of what `snapshot_missing` no longer lacks. Returns how many came back. */
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

/**
 * Counts one more absence for everything in `snapshot_missing`; where several lists are accepted together, one for
 * each of them, but for what the one that it was compared with still held (`compared_route`).
 */
export async function advanceAbsences(tx: Tx, args: AbsenceArgs): Promise<void> {
  await sql`
    insert into pending_absence (list, departure_id, destination_id, absences, last_seen_at, first_missed_at)
    select ${args.list}, m.departure_id, m.destination_id, ${absenceIncrement(args)},
           ${args.previousAt ?? args.arrivedAt}::timestamptz, ${args.arrivedAt}::timestamptz
      from snapshot_missing m
        on conflict (list, departure_id, destination_id)
        do update set absences = pending_absence.absences + excluded.absences
  `.execute(tx)
}

/** How often `snapshot_missing m` was missed by the lists that are accepted together. */
function absenceIncrement({ lists }: Pick<AbsenceArgs, 'lists'>): RawBuilder<unknown> {
  if (lists === 1) return sql`1`
  return sql`case when exists (select from compared_route c
                                where (c.departure_id, c.destination_id) = (m.departure_id, m.destination_id))
                  then 1 else ${lists}::integer end`
}

/** How many absences lists that are accepted together would confirm. */
export async function countConfirmed(
  tx: Tx,
  args: Pick<AbsenceArgs, 'list' | 'lists'> & { readonly confirmations: number },
): Promise<number> {
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

/** Ends the absences that were confirmed and applied. */
export async function clearConfirmed(
  tx: Tx,
  { list, confirmations }: { list: RouteListName; confirmations: number },
): Promise<void> {
  await sql`
    delete from pending_absence where list = ${list} and absences >= ${confirmations}
  `.execute(tx)
}

export async function countPending(tx: Tx, list: RouteListName): Promise<number> {
  const { count } = await selectOne(
    sql<{ count: number }>`select count(*) as count from pending_absence where list = ${list}`,
    tx,
  )
  return count
}
