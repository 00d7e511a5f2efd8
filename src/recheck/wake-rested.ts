import { sql, type Tx } from '../db/database.ts'
import { selectOne } from '../db/transaction.ts'

/**
 * Sets fares whose rest has ended since the last look at most one turn behind the clock. Returns whether all of them
 * were free: those that somebody holds are looked at again.
 *
 * Who rests is put as far behind as the clock will go in that time (settle-turns.ts), by the tickets of that moment. When
 * many fares come meanwhile a round of all takes longer, and what was meant as an hour would be weeks.
 */
export async function wakeRested(tx: Tx): Promise<boolean> {
  const { all } = await selectOne(
    sql<{ all: boolean }>`
      with rested as materialized (
        select s.tracked_fare_id as id
          from fare_schedule s, recheck_clock c
         where s.not_before > c.rested_to and s.not_before <= now() and s.vdue > c.v + 1 / s.ticket
      ), free as materialized (
        select tracked_fare_id as id
          from fare_schedule
         where tracked_fare_id in (select id from rested)
           for update skip locked
      ), woken as (
        update fare_schedule s
           set vdue = c.v + 1 / s.ticket
          from recheck_clock c, free
         where s.tracked_fare_id = free.id
      )
      select (select count(*) from rested) = (select count(*) from free) as all
    `,
    tx,
  )
  return all
}

/** Notes that the rests which have ended by now were looked at. */
export async function noteRested(tx: Tx): Promise<void> {
  await sql`update recheck_clock set rested_to = now() where rested_to < now()`.execute(tx)
}
