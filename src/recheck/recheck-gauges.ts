import { type Db, sql } from '../db/database.ts'
import { selectOne } from '../db/transaction.ts'
import type { Metrics } from '../metrics/metrics.ts'
import type { TurnLane } from './claim-fares.ts'

const LANES: readonly TurnLane[] = ['turn', 'confirmation', 'new_watch', 'retry']

/** Sets the gauges of whose turn it is from the database. */
export async function readRecheckGauges(
  db: Db,
  metrics: Metrics,
  requestsPerSecond: number,
): Promise<void> {
  metrics.budgetRate.set(requestsPerSecond)
  const waiting = await countWaiting(db)
  for (const lane of LANES) {
    const found = waiting.find((row) => row.lane === lane)
    metrics.checksDue.set({ lane }, found?.due ?? 0)
    metrics.checksOldestDue.set({ lane }, found?.oldest ?? 0)
  }
  const { seconds } = await selectOne(
    sql<{ seconds: number }>`
      select extract(epoch from turn)::float8 as seconds from recheck_clock
    `,
    db,
  )
  metrics.turnLength.set(seconds)
}

interface Waiting {
  readonly lane: TurnLane
  readonly due: number
  /** Seconds since 1970. */
  readonly oldest: number
}

/** A fare that is claimed is due again when its lease ends, and not counted before. */
async function countWaiting(db: Db): Promise<Waiting[]> {
  const { rows } = await sql<Waiting>`
    select lane, count(*) as due, extract(epoch from min(due_at))::float8 as oldest
      from (select coalesce(lane, 'turn') as lane, coalesce(lane_due_at, not_before) as due_at
              from fare_schedule) q
     where due_at <= clock_timestamp()
     group by lane
  `.execute(db)
  return rows
}
