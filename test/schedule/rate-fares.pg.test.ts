import { describe, expect } from 'vitest'
import { type Db, sql } from '../../src/platform/db/database.ts'
import { inTransaction } from '../../src/platform/db/transaction.ts'
import { listedRoute, pullRoutes } from '../../src/schedule/follow.ts'
import { readFarePace } from '../../src/schedule/pace-shapes.ts'
import { createRateStore } from '../../src/schedule/rate-store.ts'
import { it } from '../support/test-database.ts'
import { complete, trackFares, UNCHANGED, updateNow } from './schedule-fixtures.ts'

const START = Date.UTC(2026, 0, 1)
const HOUR_MS = 3_600_000

function rulesAt(clock: { ms: number }) {
  const rates = createRateStore({ now: () => new Date(clock.ms), sleep: async () => undefined })
  return { requestsPerSecond: 10, minRecheckSeconds: 60, rates }
}

async function ratesOf(db: Db, fareId: number) {
  const { rows } = await sql<{ rate: number; changes: number; exposure: number }>`
    select rate, available_changes as changes, available_exposure as exposure
      from fare_schedule where tracked_fare_id = ${fareId}
  `.execute(db)
  return rows[0] ?? { rate: Number.NaN, changes: Number.NaN, exposure: Number.NaN }
}

describe('the rating of checks', () => {
  it('a fare that changes gets more checks than one that does not, and is due sooner', async ({
    db,
  }) => {
    const [lively = 0, quiet = 0] = await trackFares(
      db,
      Array.from({ length: 2 }, () => ({ resellers: [1], rate: null })),
    )
    const rules = rulesAt({ ms: START })
    // So small a budget that the shortest interval holds neither.
    await updateNow(db, { ...rules, requestsPerSecond: 0.001 })
    for (let hour = 0; hour < 8; hour += 1) {
      const checks = [lively, quiet].map((fareId) => ({
        fareId,
        askedAt: new Date(START + hour * HOUR_MS),
        next: 'normal' as const,
        rating: { ...UNCHANGED, changed: fareId === lively, value: 1 },
      }))
      await complete(db, checks, rules)
    }
    await updateNow(db, { ...rules, requestsPerSecond: 0.001 })

    const [more, less] = [await ratesOf(db, lively), await ratesOf(db, quiet)]
    expect(more.rate).toBeGreaterThan(1.5 * less.rate)
    expect(more.rate + less.rate).toBeCloseTo(0.001, 4)
    const pace = await readFarePace(db, { fareId: lively, now: new Date(START + 8 * HOUR_MS) })
    expect(pace?.changesPerDay).toBeGreaterThan(5)
    expect(pace?.expectedIntervalSeconds).toBeCloseTo(1 / more.rate, -1)
    expect(pace?.why).toMatch(
      /^about \d+\.\d\d changes a day .*; a check about every \d+ s: reseller-1 every \d+ s/,
    )
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
      insert into fare_schedule_factor (name, bucket, expected, observed, updated_at)
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
      select expected, observed, (select min(least(expected, observed)) from fare_schedule_factor) as least
        from fare_schedule_factor where name = 'all available'
    `.execute(db)
    expect(rows[0]?.observed).toBeCloseTo(500 / Math.E, 1)
    expect(rows[0]?.expected).toBeCloseTo(1 + 1_000 / Math.E, 0)
    expect(rows[0]?.least).toBeGreaterThanOrEqual(0)
  })

  it('a check without a rating leaves the estimate of a fare, which its route may pull forward again', async ({
    db,
  }) => {
    const fares = await trackFares(db, [{ resellers: [1], rate: null }])
    const rules = { ...rulesAt({ ms: START }), requestsPerSecond: 0.001 }
    await updateNow(db, rules)
    const [fare = 0] = fares
    const before = await ratesOf(db, fare)
    await sql`update fare_schedule set surprise = 9`.execute(db)

    await complete(db, [{ fareId: fare, askedAt: new Date(START), next: 'retry' }], rules)

    const { rows } =
      await sql`select surprise, changes_per_day as changes from fare_schedule`.execute(db)
    expect(rows).toEqual([{ surprise: 1, changes: 1 }])
    expect((await ratesOf(db, fare)).rate).toBeCloseTo(before.rate)
  })
})

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
