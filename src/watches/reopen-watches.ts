import { sql, type Tx } from '../platform/db/database.ts'
import { affected } from '../platform/db/transaction.ts'
import { hasPassed } from './sync-tracked-fares.ts'

/** Whether watch `w` ended with its fare, whose state is `s`, and could go on with it, at once or when it is resumed. */
export const ENDED_WITH_FARE = sql<boolean>`
  (w.ended_at >= s.expired_at and not ${hasPassed(sql`w.departs_on`)})
`

/**
 * Takes back the end of the watches that ended with these fares. Call it before the end of the fares is taken back.
 * Returns how many.
 * @param begin the fares whose watches begin again, with a `watch_started`. The others go on where they ended.
 */
export async function reopenWatches(
  tx: Tx,
  fareIds: readonly number[],
  { begin }: { readonly begin: readonly number[] },
): Promise<number> {
  const begins = sql`w.tracked_fare_id = any(${begin}::bigint[])`
  return affected(
    sql`
      update watch w
         set ended_at = null,
             began_at = case when ${begins} then clock_timestamp() else w.began_at end,
             started_at = case when ${begins} then null else w.started_at end
        from fare_state s
       where s.tracked_fare_id = w.tracked_fare_id and w.tracked_fare_id = any(${fareIds}::bigint[])
         and ${ENDED_WITH_FARE}
    `,
    tx,
  )
}
