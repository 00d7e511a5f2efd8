import { expect } from 'vitest'
import { sql } from '../../src/platform/db/database.ts'
import { inTransaction } from '../../src/platform/db/transaction.ts'
import { follow } from '../../src/schedule/follow.ts'
import { readOwnPace } from '../../src/schedule/pace-shapes.ts'
import { it } from '../support/test-database.ts'
import { trackFares, updateNow } from './schedule-fixtures.ts'

const RULES = { requestsPerSecond: 1, minRecheckSeconds: 1 }

it('what a reseller reads of its pace shows neither that another watches the fare too nor that its route moves', async ({
  db,
}) => {
  const [fare = 0] = await trackFares(
    db,
    Array.from({ length: 100 }, () => ({ resellers: [1], rate: null })),
  )
  await updateNow(db, RULES)
  const now = new Date()
  const read = () => readOwnPace(db, { fareId: fare, resellerId: 1, now, minRecheckSeconds: 1 })
  const alone = await read()

  await sql`
    update tracked_fare set resellers = '{1,2}', weights = '{1,1}', watchers = 2 where id = ${fare}
  `.execute(db)
  await inTransaction(db, (tx) => follow(tx, { fareIds: [fare], changed: [fare] }))
  const shared = await read()
  await sql`update fare_schedule set surprise = 9, changes_per_day = 9, rates = '{0.03,0.03}'`.execute(
    db,
  )

  expect(alone?.expectedIntervalSeconds).toBeGreaterThan(90)
  expect(shared).toEqual(alone)
  expect(await read()).toEqual(alone)
})
