import { expect } from 'vitest'
import { type Db, sql } from '../../src/platform/db/database.ts'
import { inTransaction } from '../../src/platform/db/transaction.ts'
import { listedRoute, pullRoutes } from '../../src/schedule/follow.ts'
import { createRateStore } from '../../src/schedule/rate-store.ts'
import { it } from '../support/test-database.ts'
import { complete, trackFares, updateNow } from './schedule-fixtures.ts'

const START = Date.UTC(2026, 0, 1)
const MINUTE_MS = 60_000

async function scheduleRows(db: Db, fareIds: readonly number[]) {
  const { rows } = await sql<{ vdue: number; rate: number; surprise: number }>`
    select vdue, rate, surprise from fare_schedule
     where tracked_fare_id = any(${fareIds}::bigint[]) order by tracked_fare_id
  `.execute(db)
  return rows
}

it('when fares of a route change, the others of this route are due sooner, within the share of such checks', async ({
  db,
}) => {
  // Earlier checks have shown that a route that surprises changes ten times as often.
  await sql`
    insert into fare_schedule_factor (name, bucket, expected, observed)
    select 'surprise still', bucket, 100, case when bucket > 2 then 1000 else 100 end from generate_series(0, 7) bucket
  `.execute(db)
  const rates = createRateStore({ now: () => new Date(START), sleep: async () => undefined })
  const rules = { requestsPerSecond: 10, minRecheckSeconds: 60, rates }
  const fares = await trackFares(
    db,
    Array.from({ length: 40 }, (_, i) => ({ vdue: 10_000 + i, resellers: [1], rate: null })),
  )
  const slow = { ...rules, requestsPerSecond: 0.01 }
  await updateNow(db, slow)
  // Forty-five claimed checks leave a credit of nine.
  await sql`update fare_schedule_clock set pull_credit = 9`.execute(db)
  const [moving, quiet] = [fares.slice(0, 30), fares.slice(30)]
  const check = (fareIds: readonly number[], minute: number, changed: boolean) =>
    complete(
      db,
      fareIds.map((fareId) => ({
        fareId,
        askedAt: new Date(START + minute * MINUTE_MS),
        next: 'normal' as const,
        rating: {
          state: 'available' as const,
          changed,
          value: 1,
          route: moving.includes(fareId) ? 'PMI-MAD' : 'PMI-BCN',
          counts: true,
        },
      })),
      rules,
    )
  await check(fares, 0, false)
  const [before, quietBefore] = [await scheduleRows(db, moving), await scheduleRows(db, quiet)]

  await check(moving.slice(0, 5), 60, true)

  const after = await scheduleRows(db, moving)
  const pulled = after.filter((row, i) => i >= 5 && row.vdue < (before[i]?.vdue ?? 0))
  expect(pulled.every(({ surprise }) => surprise > 1.3)).toBe(true)
  // Each fare costs less than one check.
  expect(pulled.length).toBeGreaterThan(4)
  expect(pulled.length).toBeLessThanOrEqual(9)
  expect(await scheduleRows(db, quiet)).toEqual(quietBefore)
})

it('when a route gains or loses availability in the lists, its fares are due at once, within the share of such checks', async ({
  db,
}) => {
  const fares = await trackFares(
    db,
    Array.from({ length: 12 }, (_, i) => ({ vdue: 100 + i, resellers: [1], rate: 0.01 })),
  )
  await sql`update fare_schedule set route = case when tracked_fare_id <= ${fares[9] ?? 0}::bigint then 'PMI-MAD' else 'PMI-BCN' end`.execute(
    db,
  )
  await sql`update fare_schedule_clock set v = 50, pull_credit = 4`.execute(db)
  // It is being checked.
  await sql`update fare_schedule set claim_id = gen_random_uuid() where tracked_fare_id = ${fares[0] ?? 0}`.execute(
    db,
  )

  await inTransaction(db, (tx) => pullRoutes(tx, [listedRoute('PMI-MAD')]))

  const due = (await scheduleRows(db, fares)).map(({ vdue }) => vdue)
  expect(due).toEqual([100, 50, 50, 50, 50, 105, 106, 107, 108, 109, 110, 111])
  const { rows } = await sql<{
    credit: number
  }>`select pull_credit as credit from fare_schedule_clock`.execute(db)
  // Of each about half of its interval was left.
  expect(rows[0]?.credit).toBeCloseTo(4 - 2.1)
})

it('while the credit of pulled fares is below zero, none is pulled', async ({ db }) => {
  const fares = await trackFares(db, [{ vdue: 100, resellers: [1] }])
  await sql`update fare_schedule set route = 'PMI-MAD'`.execute(db)
  await sql`update fare_schedule_clock set pull_credit = -1.5`.execute(db)

  await inTransaction(db, (tx) => pullRoutes(tx, [listedRoute('PMI-MAD')]))

  expect((await scheduleRows(db, fares)).map(({ vdue }) => vdue)).toEqual([100])
})
