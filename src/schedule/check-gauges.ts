import { CHECK_LANES, type CheckLane } from '../platform/base/kinds.ts'
import { type Db, sql } from '../platform/db/database.ts'
import { selectOne } from '../platform/db/transaction.ts'
import type { Metrics } from '../platform/metrics/metrics.ts'

/** Sets the gauges of the schedule from the database. */
export async function readCheckGauges(
  db: Db,
  metrics: Metrics,
  requestsPerSecond: number,
): Promise<void> {
  metrics.budgetRate.set(requestsPerSecond)
  const due = await countDue(db)
  for (const lane of CHECK_LANES) {
    const found = due.find((row) => row.lane === lane)
    metrics.checksDue.set({ lane }, found?.due ?? 0)
    metrics.checksOldestDue.set({ lane }, found?.oldest ?? 0)
  }
  const { fares } = await selectOne(
    sql<{ fares: number }>`select fares from fare_schedule_clock`,
    db,
  )
  metrics.expectedInterval.set(fares / requestsPerSecond)
}

interface DueCount {
  readonly lane: CheckLane
  readonly due: number
  /** Seconds since 1970. */
  readonly oldest: number
}

/** A claimed fare is due, and counted, when its lease ends. */
async function countDue(db: Db): Promise<DueCount[]> {
  const { rows } = await sql<DueCount>`
    select lane, count(*) as due, extract(epoch from min(due_at))::float8 as oldest
      from (select coalesce(lane, 'scheduled') as lane,
                   greatest(coalesce(lane_due_at, not_before), leased_until) as due_at
              from fare_schedule) q
     where due_at <= clock_timestamp()
     group by lane
  `.execute(db)
  return rows
}
