import { type RawBuilder, sql, type Tx } from '../db/database.ts'

const askedBy = (resellerId: RawBuilder<unknown>) =>
  sql`f.max_delays[array_position(f.resellers, ${resellerId})]`

/**
 * The longest delay in seconds that a reseller of fare `f` asks for, at least the shortest interval of the workers; null where it
 * asks for none. A ticket for less than the shortest interval would buy nothing, and many of them would grow without end.
 */
export function maxDelayOf(
  resellerId: RawBuilder<unknown>,
  minRecheckSeconds: RawBuilder<unknown>,
): RawBuilder<unknown> {
  const asked = askedBy(resellerId)
  return sql`case when ${asked} is not null then greatest(${asked}, ${minRecheckSeconds}) end`
}

/**
 * The reseller in whose queue a new fare `f` starts, with that queue: the one that asks for the shortest delay, otherwise the one whose
 * queue is the shortest for its part of the budget. The count of the next minute may move the fare where its interval is shorter.
 */
export const FIRST_PAYER = sql`
  (select q.reseller_id, q.v, q.tickets, q.fares
     from recheck_payer q
    where q.reseller_id = any(f.resellers)
    order by ${askedBy(sql`q.reseller_id`)}, q.tickets / q.budget_part, q.reseller_id
    limit 1)
`

/** Gives every reseller of the fares a queue. In the order of their numbers: imports that meet must not deadlock. */
export async function addPayers(tx: Tx, fareIds: readonly number[]): Promise<void> {
  await sql`
    insert into recheck_payer (reseller_id, pass)
    select distinct r.id, c.pass
      from tracked_fare f
     cross join unnest(f.resellers) r (id)
     cross join recheck_clock c
     where f.id = any(${fareIds}::bigint[]) and not exists (select from recheck_payer p where p.reseller_id = r.id)
     order by r.id
        on conflict (reseller_id) do nothing
  `.execute(tx)
}

export interface MovedFares {
  readonly fareIds: readonly number[]
  /** Those of them that got a shorter longest delay. */
  readonly shorter: readonly number[]
}

/**
 * Moves fares to the queue of another reseller: those whose payer watches them no more, and those for which a shorter delay is
 * asked, because it holds in the queue of its own reseller alone. A ticket keeps its ratio to the mean ticket, and the due time
 * its distance from the clock of the queue.
 */
export async function movePayers(tx: Tx, { fareIds, shorter }: MovedFares): Promise<void> {
  await sql`
    update fare_schedule q
       set payer = p.reseller_id,
           ticket = q.ticket * scale.of,
           vdue = p.v + (q.vdue - old.v) / scale.of
      from tracked_fare f
     cross join lateral ${FIRST_PAYER} p
     cross join recheck_payer old
     cross join lateral (
       -- 1 where a queue was not counted yet.
       select coalesce(nullif(p.tickets, 0) / nullif(p.fares, 0) * nullif(old.fares, 0) / nullif(old.tickets, 0), 1) as of) scale
     where f.id = q.tracked_fare_id and f.id = any(${fareIds}::bigint[]) and f.watchers > 0
       and (q.payer <> all(f.resellers) or f.id = any(${shorter}::bigint[]))
       and q.payer <> p.reseller_id and old.reseller_id = q.payer
  `.execute(tx)
}
