import { sql, type Tx } from '../db/database.ts'

/**
 * Gives back the turns of fares that were not asked: their slot had passed, or nothing may be asked, or they were only
 * told to wait. They are due at once and stand where they stood.
 *
 * The claim had moved a turn's virtual due time on by its price, and that of a first look too; of a confirmation
 * and a retry it cannot be told whether it was taken as such, but those have their lane to come back in.
 */
export async function giveBackTurns(
  tx: Tx,
  claimId: string,
  fareIds: readonly number[],
): Promise<void> {
  if (fareIds.length === 0) return
  await sql`
    update fare_schedule
       set claim_id = null, slot_at = null, not_before = clock_timestamp(),
           lane_due_at = case when lane is not null then clock_timestamp() end,
           vdue = case when lane is null or lane = 'new_watch' then vdue - 1 / ticket else vdue end
     where claim_id = ${claimId} and tracked_fare_id = any(${fareIds}::bigint[])
  `.execute(tx)
}
