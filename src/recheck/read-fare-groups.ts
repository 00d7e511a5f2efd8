import { type Db, sql } from '../db/database.ts'
import type { FareGroup } from './policy/plan-budget.ts'
import { RATE } from './rate-in-sql.ts'

/**
 * Reads the scheduled fares in groups that are checked alike: by the payer, by tickets that differ by at most 5 %, and by the
 * minimum interval. The expected changes are those of the estimator without the factors, which hold for hours only.
 *
 * A ticket counts within the queue of its payer. Divided by the sum of the queue, times the payer's part of the budget, it
 * counts among all fares.
 */
export async function readFareGroups(db: Db, minRecheckSeconds: number): Promise<FareGroup[]> {
  const { rows } = await sql<FareGroup>`
    select count(*)::integer as fares, avg(ticket)::float8 as ticket, min_interval as "minIntervalSeconds",
           sum(changes)::float8 as "changesPerDay"
      from (select q.payer, q.ticket * p.budget_part / sum(q.ticket) over (partition by q.payer) as ticket,
                   greatest(${minRecheckSeconds}::integer, f.min_interval_seconds) as min_interval,
                   ${RATE} as changes
              from fare_schedule q
              join tracked_fare f on f.id = q.tracked_fare_id
              join recheck_payer p on p.reseller_id = q.payer) q
     group by payer, round(20 * ln(ticket)), min_interval
  `.execute(db)
  return rows
}
