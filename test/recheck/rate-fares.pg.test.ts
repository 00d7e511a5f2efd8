import { describe, expect } from 'vitest'
import { type Db, sql } from '../../src/db/database.ts'
import { inTransaction } from '../../src/db/transaction.ts'
import { explainFare } from '../../src/recheck/explain-fare.ts'
import { createRateStore } from '../../src/recheck/rate-store.ts'
import { it } from '../support/test-database.ts'
import { complete, dispatch, scheduleOf, trackFares, UNCHANGED } from './recheck-fixtures.ts'
import { largestDifference, traceInDatabase, traceInMemory } from './trace.ts'

const START = Date.UTC(2026, 0, 1)
const HOUR_MS = 3_600_000

function rulesAt(clock: { ms: number }) {
  const rates = createRateStore({ now: () => new Date(clock.ms), sleep: async () => undefined })
  return { requestsPerSecond: 10, minRecheckSeconds: 60, rates }
}

async function ratesOf(db: Db, fareId: number) {
  const { rows } = await sql<{ ticket: number; changes: number; exposure: number }>`
    select ticket, available_changes as changes, available_exposure as exposure
      from fare_schedule where tracked_fare_id = ${fareId}
  `.execute(db)
  return rows[0] ?? { ticket: Number.NaN, changes: Number.NaN, exposure: Number.NaN }
}

describe('the rating of checks', () => {
  it('a fare that changes gets a larger ticket than one that does not, and is due sooner', async ({
    db,
  }) => {
    const [lively = 0, quiet = 0] = await trackFares(db, [{}, {}])
    const rules = rulesAt({ ms: START })
    for (let hour = 0; hour < 8; hour += 1) {
      const checks = [lively, quiet].map((fareId) => ({
        fareId,
        askedAt: new Date(START + hour * HOUR_MS),
        next: 'normal' as const,
        rating: { ...UNCHANGED, changed: fareId === lively, value: 1 },
      }))
      await complete(db, checks, rules)
    }

    const { rows } = await sql<{ stored: number; used: number }>`
      select changes_per_day as stored, ticket ^ 2 / available_value as used
        from fare_schedule where tracked_fare_id = ${lively}
    `.execute(db)
    expect(rows[0]?.stored).toBeCloseTo(rows[0]?.used ?? Number.NaN)
    expect((await ratesOf(db, lively)).ticket).toBeGreaterThan(
      3 * (await ratesOf(db, quiet)).ticket,
    )
    await sql`update recheck_payer set tickets = 6, fares = 2`.execute(db)
    const now = new Date(START + 8 * HOUR_MS)
    const rate = { requestsPerSecond: 10, minRecheckSeconds: 0 }
    const pace = await explainFare(db, { fareId: lively, ...rate, now })
    expect(pace?.changesPerDay).toBeGreaterThan(5)
    expect(pace?.expectedIntervalSeconds).toBeCloseTo(0.6 / (pace?.ticket ?? 0), 9)
    await dispatch(db, 10)
    expect((await scheduleOf(db, lively)).vdue).toBeLessThan((await scheduleOf(db, quiet)).vdue)
  })

  it('a check that failed or was made on demand leaves the estimate, and the next interval begins at the latter', async ({
    db,
  }) => {
    const [fare = 0] = await trackFares(db, [{}])
    const rules = rulesAt({ ms: START })
    const check = (hour: number, given: object) =>
      complete(
        db,
        [{ fareId: fare, askedAt: new Date(START + hour * HOUR_MS), next: 'normal', ...given }],
        rules,
      )

    await check(0, { rating: UNCHANGED })
    await check(24, { next: 'retry' })
    await check(36, { rating: { ...UNCHANGED, changed: true, value: 1, counts: false } })
    expect(await ratesOf(db, fare)).toMatchObject({ changes: 0, exposure: 0 })

    await check(48, { rating: UNCHANGED })
    const { changes, exposure } = await ratesOf(db, fare)
    expect(changes).toBe(0)
    expect(exposure).toBeCloseTo(0.5, 9)
  })

  it('what one process learned of all fares reaches the others within a minute', async ({ db }) => {
    const fares = await trackFares(db, [{}, {}, {}])
    const clock = { ms: START }
    const [one, other] = [rulesAt(clock), rulesAt(clock)]
    const read = (rules: typeof one) => inTransaction(db, (tx) => rules.rates.read(tx))
    await read(other)
    for (const hour of [0, 24]) {
      const checks = fares.map((fareId) => ({
        fareId,
        askedAt: new Date(START + hour * HOUR_MS),
        next: 'normal' as const,
        rating: {
          state: 'available' as const,
          changed: hour > 0,
          value: 1,
          route: null,
          counts: true,
        },
      }))
      await complete(db, checks, one)
    }
    const learned = (await read(one)).all.available

    clock.ms += 60_000
    await read(one)
    const shared = await read(other)

    expect(learned.changes).toBeGreaterThan(3)
    expect(shared.all.available.changes).toBeCloseTo(learned.changes, 3)
    clock.ms += 60_000
    expect((await read(one)).all.available.changes).toBeCloseTo(learned.changes, 3)
  })

  it('the sums of all fares outlive restarts, and decay once by the time since their last update', async ({
    db,
  }) => {
    const [fare = 0] = await trackFares(db, [{}])
    await sql`
      insert into recheck_factor (name, bucket, expected, observed, updated_at)
      values ('all available', 0, 1000, 500, clock_timestamp() - interval '30 days')
    `.execute(db)
    for (const hour of [0, 24]) {
      // In each of these hours two processes start, and both share; the first one learns from the check.
      for (const _ of ['one', 'other']) {
        const clock = { ms: START + hour * HOUR_MS }
        const rules = rulesAt(clock)
        const rating = { state: 'available', changed: false, value: 0, route: null } as const
        const askedAt = new Date(clock.ms)
        const check = { fareId: fare, askedAt, rating: { ...rating, counts: true } }
        await complete(db, [{ ...check, next: 'normal' }], rules)
        clock.ms += 60_000
        await inTransaction(db, (tx) => rules.rates.read(tx))
      }
    }

    const { rows } = await sql<{ expected: number; observed: number; least: number }>`
      select expected, observed, (select min(least(expected, observed)) from recheck_factor) as least
        from recheck_factor where name = 'all available'
    `.execute(db)
    expect(rows[0]?.observed).toBeCloseTo(500 / Math.E, 1)
    expect(rows[0]?.expected).toBeCloseTo(1 + 1_000 / Math.E, 0)
    expect(rows[0]?.least).toBeGreaterThanOrEqual(0)
  })

  it('a check without a rating ends the surprise of a fare, and its ticket is as if there were none', async ({
    db,
  }) => {
    const fares = await trackFares(db, [{ vdue: 1_000 }, { vdue: 1_000 }, { vdue: 1_000 }])
    await sql`
      update fare_schedule q set ticket = g.ticket, surprise = g.surprise
        from unnest(${fares}::bigint[], array[6, 0.6, 0.5]::float8[], array[9, 9, 0.25]::float8[]) g (id, ticket, surprise)
       where q.tracked_fare_id = g.id
    `.execute(db)
    await sql`update recheck_payer set tickets = 6, fares = 3`.execute(db)
    const failed = fares.map((fareId) => ({
      fareId,
      askedAt: new Date(START),
      next: 'retry' as const,
    }))

    await complete(db, failed, rulesAt({ ms: START }))

    const { rows } = await sql<{ ticket: number; surprise: number; vdue: number }>`
      select ticket, surprise, vdue from fare_schedule order by tracked_fare_id
    `.execute(db)
    const found = rows.map(({ ticket, surprise, vdue }) =>
      [ticket, surprise, vdue].map((value) => Number(value.toFixed(6))),
    )
    // The second fare has the least ticket, a fifth of the mean; the third was due later because of its route.
    expect(found).toEqual([
      [2, 1, 1_000.333333],
      [0.4, 1, 1_000.833333],
      [0.5, 0.25, 1_000],
    ])
  })

  it('claims and reports have the same order, due times and estimates in the database as in the pure functions', async ({
    db,
  }) => {
    const args = { fares: 40, batches: 40, batchSize: 10, shares: [1, 2, 1] }

    const [pure, stored] = [traceInMemory(args), await traceInDatabase(db, args)]

    expect(stored.order).toEqual(pure.order)
    expect(largestDifference(pure, stored)).toBeLessThan(1e-9)
  })
})
