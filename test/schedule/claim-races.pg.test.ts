import { expect } from 'vitest'
import { sql } from '../../src/platform/db/database.ts'
import { inTransaction } from '../../src/platform/db/transaction.ts'
import { complete } from '../../src/schedule/complete.ts'
import { dispatchChecks } from '../../src/schedule/dispatch-checks.ts'
import { hold } from '../../src/schedule/follow.ts'
import { openAnother } from '../platform/db/empty-database.ts'
import { it } from '../support/test-database.ts'
import { idleQueue, pass, trackFares } from './schedule-fixtures.ts'

const ROUNDS = 40

it('a fare that a check on demand was recorded of while fares were claimed is not claimed', {
  timeout: 60_000,
}, async ({ db, databaseUrl }) => {
  const { db: another } = openAnother(databaseUrl)
  const fares = await trackFares(
    db,
    Array.from({ length: 400 }, (_, i) => {
      return { resellers: [1], lane: i % 2 === 0 ? ('confirmation' as const) : null }
    }),
  )
  const rules = { requestsPerSecond: 100, minRecheckSeconds: 60 }
  const record = (fareId: number) =>
    inTransaction(another, async (tx) => {
      await hold(tx, [fareId])
      await complete(tx, [{ fareId, askedAt: new Date(), next: 'normal' }], rules)
    })

  for (let round = 0; round < ROUNDS; round += 1) {
    await sql`
      update fare_schedule
         set not_before = now(), leased_until = '-infinity', claim_id = null,
             lane = case when tracked_fare_id % 2 = 0 then 'confirmation' end,
             lane_due_at = case when tracked_fare_id % 2 = 0 then now() end
    `.execute(db)
    await pass(db, 10)
    const claiming = dispatchChecks({ db, queue: idleQueue, requestsPerSecond: 100 })
    const over = new AbortController()
    const recordAll = async () => {
      for (const fare of fares) if (!over.signal.aborted) await record(fare)
    }
    const recording = recordAll()
    const claimed = await claiming
    over.abort()
    await recording
    const { rows } = await sql<{ id: number }>`
      select tracked_fare_id as id from fare_schedule where claim_id is not null and not_before > now()
    `.execute(db)
    expect(rows).toEqual([])
    expect(claimed.filter(({ lane }) => lane === null)).toEqual([])
  }
})
