import { CHECK_LANES } from '../platform/base/kinds.ts'
import { type Db, PREPARED, sql } from '../platform/db/database.ts'
import { selectOne } from '../platform/db/transaction.ts'

/** Claims are made this long before the reserved slots of the budget end, so that none is left unused. */
const LEAD_MS = 1_500

/**
 * In how many milliseconds fares can be claimed next: when one is due, and slots are free for it. While more fares are due
 * than the budget allows, that is every few seconds. Undefined if no fare waits. Fares that are claimed do not count: most
 * are recorded, and due again, before their lease ends.
 */
export async function nextDispatchMs(db: Db): Promise<number | undefined> {
  const { dueMs, aheadMs } = await selectOne(
    sql<{ dueMs: number | null; aheadMs: number }>`${PREPARED}
      select (extract(epoch from least(d.scheduled, d.early) - now) * 1000)::float8 as "dueMs",
             (extract(epoch from b.next_slot_at - now) * 1000)::float8 as "aheadMs"
        from upstream_budget b, clock_timestamp() now,
             (select (select not_before
                        from fare_schedule
                       where vdue < 'infinity' and leased_until <= now()
                       order by not_before
                       limit 1) as scheduled,
                     (select min(q.lane_due_at)
                        from unnest(${CHECK_LANES}::text[]) early (lane)
                       cross join lateral (
                         select lane_due_at from fare_schedule
                          where lane = early.lane and leased_until <= now()
                          order by lane_due_at
                          limit 1) q) as early) d
    `,
    db,
  )
  return dueMs === null ? undefined : Math.max(dueMs, aheadMs - LEAD_MS)
}
