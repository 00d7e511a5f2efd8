import { type Db, sql, type Tx } from '../db/database.ts'
import { inTransaction } from '../db/transaction.ts'
import { lockWatchesOf } from '../resellers/resellers.ts'
import {
  lockTrackedFares,
  syncTrackedFares,
  type TrackedFaresEffect,
} from './sync-tracked-fares.ts'

/**
 * Disables a reseller: its watches stop as if each were paused, its watch lists and its feed stay. Disabling it a
 * second time changes nothing.
 */
export async function disableReseller(db: Db, resellerId: number): Promise<TrackedFaresEffect> {
  return inTransaction(db, async (tx) => {
    await lockWatchesOf(tx, resellerId)
    const fareIds = await findTrackedFaresOf(tx, resellerId)
    await lockTrackedFares(tx, fareIds)
    await sql`
      update reseller set disabled_at = clock_timestamp()
       where id = ${resellerId} and disabled_at is null
    `.execute(tx)
    return syncTrackedFares(tx, fareIds)
  })
}

async function findTrackedFaresOf(tx: Tx, resellerId: number): Promise<number[]> {
  const { rows } = await sql<{ id: number }>`
    select distinct tracked_fare_id as id from watch where reseller_id = ${resellerId}
  `.execute(tx)
  return rows.map((row) => row.id)
}
