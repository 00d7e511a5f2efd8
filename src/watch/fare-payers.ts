import { sql, type Tx } from '../db/database.ts'

/**
 * The resellers in whose queue fare `f` can be: those with the shortest `max_delay_seconds`, because no other queue keeps it, or
 * all where there is none.
 */
export const POSSIBLE_PAYERS = sql`case when f.bound_by <> '{}' then f.bound_by else f.resellers end`

/** Of these the one that has paid least, with the clock of its queue. */
export const FIRST_PAYER = sql`
  (select reseller_id, v from recheck_payer where reseller_id = any(${POSSIBLE_PAYERS}) order by pass, reseller_id limit 1)
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

/** Moves fares to the queue of another reseller whose payer can pay for them no more, at the same distance from its clock. */
export async function movePayers(tx: Tx, fareIds: readonly number[]): Promise<void> {
  await sql`
    update fare_schedule q
       set payer = p.reseller_id, vdue = q.vdue + p.v - old.v
      from tracked_fare f
     cross join lateral ${FIRST_PAYER} p
     cross join recheck_payer old
     where f.id = q.tracked_fare_id and f.id = any(${fareIds}::bigint[]) and f.watchers > 0
       and q.payer <> all(${POSSIBLE_PAYERS}) and old.reseller_id = q.payer
  `.execute(tx)
}
