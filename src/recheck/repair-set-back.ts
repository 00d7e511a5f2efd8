import type { Logger } from '../base/logger.ts'
import { isAhead } from '../db/clock-ahead.ts'
import { type Db, sql, type Tx } from '../db/database.ts'
import { inTransaction } from '../db/transaction.ts'
import type { Metrics } from '../metrics/metrics.ts'
import { LEASE_SECONDS } from './recheck-rules.ts'

export interface RepairDeps {
  readonly db: Db
  readonly metrics: Metrics
  readonly log: Logger
}

/**
 * Repairs the schedule after the clock of the database was set back: due times by the old clock would stop the checks for
 * as long as it was set back. Each dispatch writes its time into the row of the clock, so a later time there shows it.
 *
 * The beliefs are repaired one by one, each under its lock by its next check (`lockFares`). Safe to run twice, and in
 * several processes: the row of the clock is repaired once.
 */
export async function repairSetBack({ db, metrics, log }: RepairDeps): Promise<void> {
  const ahead = await db
    .selectFrom('recheck_clock')
    .select('dispatched_at')
    .where(isAhead(sql`dispatched_at`))
    .execute()
  if (ahead.length === 0) return
  const repaired = await inTransaction(db, async (tx) => {
    // The schedule before the clock, as in every dispatch.
    await advanceSchedule(tx)
    return setClock(tx)
  })
  if (repaired === undefined) return
  metrics.clockSetBack.inc()
  log.warn(repaired, 'clock of the database was set back')
}

/** Makes no fare wait longer than a lease or the interval of its watches. */
async function advanceSchedule(tx: Tx): Promise<void> {
  await sql`
    with late as materialized (
      select tracked_fare_id as id
        from fare_schedule
       where greatest(not_before, lane_due_at, leased_until) > clock_timestamp()
       order by tracked_fare_id
         for update
    )
    update fare_schedule s
       set leased_until = least(s.leased_until, clock_timestamp() + make_interval(secs => ${LEASE_SECONDS})),
           not_before = least(s.not_before, clock_timestamp() + make_interval(
             secs => greatest(${LEASE_SECONDS}::int, coalesce(f.min_interval_seconds, 0)))),
           lane_due_at = case when s.lane is not null
                              then least(s.lane_due_at, clock_timestamp() + make_interval(secs => ${LEASE_SECONDS})) end
      from late
      join tracked_fare f on f.id = late.id
     where s.tracked_fare_id = late.id
  `.execute(tx)
}

/** Returns by how much the clock was set back; undefined if another process has repaired it. */
async function setClock(tx: Tx): Promise<{ seconds: number } | undefined> {
  const { rows } = await sql<{ seconds: number }>`
    update recheck_clock c
       set dispatched_at = clock_timestamp(), counted_at = least(c.counted_at, clock_timestamp())
      from (select dispatched_at from recheck_clock for update) old
     where ${isAhead(sql`old.dispatched_at`)}
    returning round(extract(epoch from old.dispatched_at - clock_timestamp()))::float8 as seconds
  `.execute(tx)
  return rows[0]
}
