import { expect } from 'vitest'
import { sql } from '../../src/platform/db/database.ts'
import { inTransaction } from '../../src/platform/db/transaction.ts'
import { follow } from '../../src/schedule/follow.ts'
import { readOwnPace } from '../../src/schedule/pace-shapes.ts'
import { budgetFor, expectedDelays, readFareGroups } from '../../src/schedule/plan-budget.ts'
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

it('the delays of the present fares follow from what their resellers spend', async ({ db }) => {
  const of = (reseller: number, count: number) =>
    Array.from({ length: count }, () => ({ resellers: [reseller], rate: null }))
  await trackFares(db, [...of(1, 30), ...of(2, 10)])
  await updateNow(db, { requestsPerSecond: 1, minRecheckSeconds: 10 })

  const groups = await readFareGroups(db, 10)

  // Each reseller has half a check a second: a check every 60 s for the thirty fares, and every 20 s for the ten.
  expect(groups.map(({ fares }) => fares).sort((a, b) => a - b)).toEqual([10, 30])
  expect(groups.map(({ changesPerDay }) => changesPerDay).sort((a, b) => a - b)).toEqual([10, 30])
  const delays = expectedDelays(groups, 1)
  expect(delays?.p50Seconds).toBeCloseTo(20, 6)
  expect(delays?.p95Seconds).toBeCloseTo(56, 6)
  expect(budgetFor(groups, 28)).toBeCloseTo(2, 6)
  // A check every ten seconds is the most: 95 % within 9.5 s.
  expect(budgetFor(groups, 9)).toBeNull()
})
