import { type Db, sql } from '../platform/db/database.ts'
import type { FareGroup } from './policy/plan-budget.ts'

/**
 * Reads the scheduled fares in groups that are checked alike: by rates that differ by at most 5 %, and by the shortest interval.
 * The expected changes are those of the last checks.
 */
export async function readFareGroups(db: Db, minRecheckSeconds: number): Promise<FareGroup[]> {
  const { rows } = await sql<FareGroup>`
    select count(*)::integer as fares, avg(q.rate)::float8 as rate, m.seconds as "minIntervalSeconds",
           sum(coalesce(q.changes_per_day, 0))::float8 as "changesPerDay"
      from fare_schedule q
      join tracked_fare f on f.id = q.tracked_fare_id
     cross join lateral (
       select greatest(${minRecheckSeconds}::integer, f.min_interval_seconds) as seconds) m
     where q.rate is not null
     group by round(20 * ln(q.rate)), m.seconds
  `.execute(db)
  return rows
}
