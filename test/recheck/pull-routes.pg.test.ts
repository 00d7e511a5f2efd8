import { expect } from 'vitest'
import { type Db, sql } from '../../src/db/database.ts'
import { createRateStore } from '../../src/recheck/rate-store.ts'
import { it } from '../support/test-database.ts'
import { complete, trackFares } from './recheck-fixtures.ts'

const START = Date.UTC(2026, 0, 1)
const MINUTE_MS = 60_000

async function scheduleRows(db: Db, fareIds: readonly number[]) {
  const { rows } = await sql<{ vdue: number; ticket: number; surprise: number }>`
    select vdue, ticket, surprise from fare_schedule
     where tracked_fare_id = any(${fareIds}::bigint[]) order by tracked_fare_id
  `.execute(db)
  return rows
}

it('when fares of a route change, the others of this route are due sooner, within the share of such checks', async ({
  db,
}) => {
  // Earlier checks have shown that a route that surprises changes ten times as often.
  await sql`
    insert into recheck_factor (name, bucket, expected, observed)
    select 'surprise still', bucket, 100, case when bucket > 2 then 1000 else 100 end from generate_series(0, 7) bucket
  `.execute(db)
  const rates = createRateStore({ now: () => new Date(START), sleep: async () => undefined })
  const rules = { requestsPerSecond: 10, minRecheckSeconds: 60, rates }
  const fares = await trackFares(
    db,
    Array.from({ length: 40 }, (_, i) => ({ vdue: 10_000 + i })),
  )
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
  const pulled = after.filter(
    (row, i) => i >= 5 && row.surprise > 1 && row.ticket > (before[i]?.ticket ?? 0),
  )
  const sooner = after.filter((row, i) => i >= 5 && row.vdue < (before[i]?.vdue ?? 0))
  expect(sooner).toHaveLength(pulled.length)
  // Forty-five checks leave a credit of nine, and each fare costs less than one.
  expect(pulled.length).toBeGreaterThan(4)
  expect(pulled.length).toBeLessThanOrEqual(9)
  expect(await scheduleRows(db, quiet)).toEqual(quietBefore)
})
