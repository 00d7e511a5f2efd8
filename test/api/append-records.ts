import {
  appendWatchDrafts,
  createWatchDrafts,
  insertWatchEnds,
} from '../../src/feeds/append-records.ts'
import { type Db, sql } from '../../src/platform/db/database.ts'
import { inTransaction } from '../../src/platform/db/transaction.ts'

export interface Appending {
  readonly resellerId: number
  readonly fares: readonly number[]
  readonly count: number
  /** How many characters each record has in addition. */
  readonly padding: number
}

/**
 * Appends records to the feed of a reseller, in one transaction. They are about the watches of two fares in turn, and each
 * fare must have one watch of that reseller.
 */
export async function appendRecords(
  db: Db,
  { resellerId, fares, count, padding }: Appending,
): Promise<void> {
  await inTransaction(db, async (tx) => {
    const drafts = Array.from({ length: count }, (_, i) => ({
      fareId: fares[i % 2] ?? 0,
      reason: null,
      before: {},
      after: { outbound: { belief: 'x'.repeat(padding) } },
      lastGoodCheckAt: null,
      detectedAt: '2026-01-01T00:00:00Z',
    }))
    const ids = await insertWatchEnds(tx, drafts)
    await createWatchDrafts(tx)
    await sql`
      insert into watch_change_draft (reseller_id, watch_id, reference, watch_event_id)
      select ${resellerId}::bigint, w.id, w.reference, e.id
        from watch_event e
        join watch w on w.tracked_fare_id = e.tracked_fare_id and w.reseller_id = ${resellerId}
       where e.id = any(${ids}::uuid[])
    `.execute(tx)
    await appendWatchDrafts(tx)
  })
}
