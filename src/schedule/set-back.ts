import { type Db, PREPARED, sql } from '../platform/db/database.ts'
import { inTransaction, selectOne } from '../platform/db/transaction.ts'
import { reserveSlots } from '../upstream/budget/reserve-slots.ts'
import { HORIZON_SECONDS, LEASE_SECONDS } from './schedule-rules.ts'

/** Less is the difference between two readings of the clock. */
const SET_BACK_SECONDS = 10
/** One statement must end within its timeout. */
const BATCH = 50_000

/**
 * Corrects the times of the schedule if the clock of the database was set back since the last claim. Returns by how many
 * seconds at least, to one process alone; 0 if it was not.
 *
 * A time that lies further ahead than its fare's shortest interval ends now, and so does a lease. The slots of the budget
 * continue from now. Safe to run twice and in several processes: what is right stays.
 */
export async function correctSetBack(db: Db, requestsPerSecond: number): Promise<number> {
  if ((await readSetBack(db)) === 0) return 0
  while ((await correctTimes(db)) === BATCH);
  await inTransaction(db, (tx) => reserveSlots(tx, { requestsPerSecond, wanted: 0, lane: true }))
  return takeSetBack(db)
}

const IS_AHEAD = sql`claimed_at > clock_timestamp() + make_interval(secs => ${SET_BACK_SECONDS})`

async function readSetBack(db: Db): Promise<number> {
  const { seconds } = await selectOne(
    sql<{ seconds: number }>`${PREPARED}
      select case when ${IS_AHEAD} then extract(epoch from claimed_at - clock_timestamp())::float8 else 0 end as seconds
        from schedule_facts
    `,
    db,
  )
  return seconds
}

/** Returns how many rows were wrong. */
async function correctTimes(db: Db): Promise<number> {
  const mostLeased = sql`clock_timestamp() + make_interval(secs => ${LEASE_SECONDS + HORIZON_SECONDS})`
  const { rows } = await sql`
    with wrong as materialized (
      select q.tracked_fare_id as id, a.is_ahead
        from fare_schedule q
        left join fare_state s using (tracked_fare_id)
       cross join lateral (
             select q.not_before > clock_timestamp() + make_interval(secs => q.interval_seconds)
                    or q.lane_due_at > clock_timestamp() and s.last_check_at > clock_timestamp() as is_ahead) a
       where a.is_ahead or q.leased_until > ${mostLeased}
       limit ${BATCH}
         for update of q skip locked
    )
    update fare_schedule q
       set not_before = case when w.is_ahead then least(q.not_before, clock_timestamp()) else q.not_before end,
           lane_due_at = case when w.is_ahead and q.lane is not null then least(q.lane_due_at, clock_timestamp()) else q.lane_due_at end,
           leased_until = least(q.leased_until, ${mostLeased})
      from wrong w
     where q.tracked_fare_id = w.id
    returning q.tracked_fare_id
  `.execute(db)
  return rows.length
}

async function takeSetBack(db: Db): Promise<number> {
  const { rows } = await sql<{ seconds: number }>`
    update schedule_facts set claimed_at = clock_timestamp()
     where ${IS_AHEAD}
    returning extract(epoch from old.claimed_at - new.claimed_at)::float8 as seconds
  `.execute(db)
  return rows[0]?.seconds ?? 0
}
