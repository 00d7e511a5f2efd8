import { expect } from 'vitest'
import { type Db, sql } from '../../src/platform/db/database.ts'
import { inTransaction } from '../../src/platform/db/transaction.ts'
import { changeQueues, follow } from '../../src/schedule/queues.ts'
import { readFareTurns, readOwnPaces } from '../../src/schedule/turn-shapes.ts'
import { it } from '../support/test-database.ts'
import { type NewFare, trackFares } from './schedule-fixtures.ts'

async function setRules(db: Db, requestsPerSecond: number, minRecheckSeconds = 1): Promise<void> {
  await sql`
    update schedule_facts
       set requests_per_second = ${requestsPerSecond}, min_recheck_seconds = ${minRecheckSeconds}
  `.execute(db)
}

const many = (count: number, fare: NewFare) => Array.from({ length: count }, () => fare)

it('what a reseller reads of its pace shows neither that another watches the fare too nor that its route moves', async ({
  db,
}) => {
  const [fare = 0] = await trackFares(db, [
    ...many(100, { resellers: [1] }),
    ...many(10, { resellers: [2] }),
  ])
  await setRules(db, 2)
  const now = new Date()
  const args = { fareIds: [fare], resellerId: 1, now, minRecheckSeconds: 1 }
  const read = async () => (await readOwnPaces(db, args)).get(fare)
  const alone = await read()

  const watches = sql`
    select ${fare}::bigint as fare, reseller_id, 1::float8 as weight, null::int as min_seconds, null::int as max_seconds
      from unnest(array[1, 2]::bigint[]) reseller_id
  `
  await inTransaction(db, async (tx) => changeQueues(tx, await follow(tx, [fare], watches)))
  const shared = await read()
  await sql`update fare_schedule set rate = 9, route_moved = true`.execute(db)
  await sql`update reseller_queue set speed = 9`.execute(db)

  expect(alone?.expectedIntervalSeconds).toBe(100)
  expect(shared).toEqual(alone)
  expect(await read()).toEqual(alone)
})

it('the pace of a reseller follows from its part, its minimum interval and its longest delays as they are kept', async ({
  db,
}) => {
  const [own = 0, slow = 0, asked = 0] = await trackFares(db, [
    {},
    { minIntervals: [40] },
    { maxDelaySeconds: 7 },
  ])
  const read = async (fareId: number) => {
    const args = { fareIds: [fareId], resellerId: 1, now: new Date(), minRecheckSeconds: 1 }
    return (await readOwnPaces(db, args)).get(fareId)?.expectedIntervalSeconds
  }

  await setRules(db, 0.1)
  // Seven tenths of a part of a tenth of a check a second suffice for a check every 15 s, and the rest is for the others.
  expect([await read(own), await read(slow), await read(asked)]).toEqual([100, 100, 15])
  await setRules(db, 1)
  expect([await read(own), await read(slow), await read(asked)]).toEqual([4, 40, 4])
})

it('the turns of a fare are explained, the next one first', async ({ db }) => {
  const [fare = 0] = await trackFares(db, [
    { resellers: [1, 2], weights: [1, 4], score: 2, vdue: 1 },
    { resellers: [1], score: 2 },
  ])
  await setRules(db, 1)
  const moved = (at: Date) =>
    sql`update reseller_queue set v = 1.5 - reseller_id, speed = 1, moved_at = ${at}`.execute(db)
  const read = () => readFareTurns(db, { fareId: fare, now: new Date() })
  await moved(new Date(Date.now() + 3_600_000))

  const turns = await read()

  // The queue of the second moves no faster than a round in the minimum interval.
  expect(turns?.resellers).toEqual([
    {
      reseller: 'reseller-1',
      weight: 1,
      score: 2,
      dueInSeconds: 1,
      everySeconds: 1,
      aloneSeconds: 4,
    },
    {
      reseller: 'reseller-2',
      weight: 4,
      score: 2,
      dueInSeconds: 3,
      everySeconds: 1,
      aloneSeconds: 2,
    },
  ])
  expect(turns?.why).toMatch(
    /^about 1\.00 changes a day .*: reseller-1 in 1\.0 s and every 1\.0 s, alone every 4\.0 s \(weight 1, score 2\.00\), reseller-2 in/,
  )
  // A queue stands between two turns, and time passes.
  await moved(new Date(Date.now() - 2_000))
  const [first, second] = (await read())?.resellers.map((one) => one.dueInSeconds) ?? []
  expect(first).toBe(0)
  expect(second).toBeLessThanOrEqual(1)
})
