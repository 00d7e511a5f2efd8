import { describe, expect } from 'vitest'
import { type Db, sql } from '../../src/platform/db/database.ts'
import { withSessionLock } from '../../src/platform/db/session-lock.ts'
import { nextUpdateMs, updateRates } from '../../src/schedule/update-rates.ts'
import { it } from '../support/test-database.ts'
import {
  type NewFare,
  runSchedule,
  scheduleOf,
  trackFares,
  updateNow,
} from './schedule-fixtures.ts'

const RULES = { requestsPerSecond: 1, minRecheckSeconds: 1 }

function times<T>(count: number, of: T): T[] {
  return Array.from({ length: count }, () => of)
}

/** The mean interval in seconds of fares that were checked from that time on. */
function meanInterval(checks: readonly (readonly number[])[], from: number): number {
  const late = checks.map((times) => times.filter((at) => at >= from))
  const seconds = late.reduce((sum, times) => sum + ((times.at(-1) ?? 0) - (times[0] ?? 0)), 0)
  return seconds / late.reduce((sum, times) => sum + times.length - 1, 0)
}

/** Runs one check a second, and returns the mean interval of each group. */
async function intervalsOf(db: Db, groups: readonly NewFare[][]): Promise<number[]> {
  const ids = await trackFares(
    db,
    groups.flat().map((fare) => ({ ...fare, rate: null })),
  )
  const checksOf = await runSchedule(db, 900)
  const ends = groups.map((_, i) => groups.slice(0, i + 1).flat().length)
  return groups.map((group, i) => {
    const end = ends[i] ?? 0
    return meanInterval(ids.slice(end - group.length, end).map(checksOf), 200)
  })
}

async function ratesOf(db: Db, fares: readonly number[]): Promise<number[]> {
  const rows = await Promise.all(fares.map((fare) => scheduleOf(db, fare)))
  return rows.map(({ rate }) => rate ?? Number.NaN)
}

async function speedOf(db: Db): Promise<number> {
  const { rows } = await sql<{ speed: number }>`select speed from fare_schedule_clock`.execute(db)
  return rows[0]?.speed ?? Number.NaN
}

describe('the rate of a fare', () => {
  it('is the sum of what its resellers spend on it, and each of them spends its part of the budget', async ({
    db,
  }) => {
    const fares = await trackFares(db, [
      { resellers: [1, 2], rate: null },
      { resellers: [2], rate: null },
      { resellers: [2], weights: [4], rate: null },
    ])

    await updateNow(db, { requestsPerSecond: 0.4, minRecheckSeconds: 1 })

    // The first reseller has one fare, and the second spends its 0.2 by the roots of 1, 1 and 4.
    expect(await ratesOf(db, fares)).toEqual([
      expect.closeTo(0.25),
      expect.closeTo(0.05),
      expect.closeTo(0.1),
    ])
    expect((await scheduleOf(db, fares[0] ?? 0)).rates).toEqual([
      expect.closeTo(0.2),
      expect.closeTo(0.05),
    ])
  })

  it('is at most one check in its shortest interval, and what is left makes the clock faster', async ({
    db,
  }) => {
    const fares = await trackFares(db, times(10, { resellers: [1], rate: null }))

    await updateNow(db, { requestsPerSecond: 1, minRecheckSeconds: 60 })

    expect(await ratesOf(db, fares)).toEqual(times(10, expect.closeTo(1 / 60)))
    expect(await speedOf(db)).toBeCloseTo(6)
  })

  it('is for each reseller at most one check in the shortest interval that it asks for', async ({
    db,
  }) => {
    const [fare = 0] = await trackFares(db, [
      { resellers: [1, 2], minIntervals: [100, 20], minIntervalSeconds: 20, rate: null },
    ])

    await updateNow(db, RULES)

    const { rate, rates } = await scheduleOf(db, fare)
    expect(rates).toEqual([expect.closeTo(0.01), expect.closeTo(0.05)])
    expect(rate).toBeCloseTo(0.05)
  })

  it('keeps longest delays, and scales them to seven tenths of a part that has shrunk', async ({
    db,
  }) => {
    const fares = await trackFares(db, [
      ...times(10, { resellers: [1], maxDelays: [40], rate: null }),
      ...times(990, { resellers: [1], rate: null }),
    ])
    const bounded = fares.slice(0, 10)

    await updateNow(db, RULES)
    expect(await ratesOf(db, bounded)).toEqual(times(10, expect.closeTo(1 / 40)))

    await updateNow(db, { ...RULES, requestsPerSecond: 0.1 })
    expect(await ratesOf(db, bounded)).toEqual(times(10, expect.closeTo(0.007)))
  })
})

describe('a reseller whose fares another watches too', () => {
  it('has its fares checked as often as alone, and so has the other', async ({ db }) => {
    const [shared = 0, own = 0] = await intervalsOf(db, [
      times(20, { resellers: [1, 2] }),
      times(60, { resellers: [2] }),
    ])

    // Alone, with half of one check a second, the first has a check of each every 40 s, and the second every 160 s.
    expect(shared).toBeLessThan(40)
    expect(shared).toBeGreaterThan(28)
    expect(own).toBeLessThan(162)
  })

  it('has the checks of both where both watch the same', async ({ db }) => {
    const [shared = 0, first = 0, second = 0] = await intervalsOf(db, [
      times(40, { resellers: [1, 2] }),
      times(10, { resellers: [1] }),
      times(10, { resellers: [2] }),
    ])

    // Alone, the intervals would be 100 s.
    expect(shared).toBeLessThan(55)
    expect(first).toBeLessThan(105)
    expect(second).toBeLessThan(105)
  })
})

describe('a fare', () => {
  it('joins the queue in its first interval, so that an import is spread over it', async ({
    db,
  }) => {
    const fares = await trackFares(db, times(100, { resellers: [1], rate: null }))
    await sql`update fare_schedule_clock set v = 50`.execute(db)

    await updateNow(db, RULES)

    const due = await Promise.all(fares.map(async (fare) => (await scheduleOf(db, fare)).vdue))
    const early = due.filter((vdue) => vdue < 100).length
    expect(Math.min(...due)).toBeGreaterThanOrEqual(50)
    expect(Math.max(...due)).toBeLessThan(150)
    expect(early).toBeGreaterThan(45)
    expect(early).toBeLessThan(55)
  })

  it('keeps the part of its interval that is left when the pace of its reseller changes by over a tenth', async ({
    db,
  }) => {
    const [first = 0] = await trackFares(db, [
      { resellers: [1], rate: null },
      ...times(9, { resellers: [1], rate: null }),
    ])
    await updateNow(db, RULES)
    await sql`update fare_schedule set vdue = 5 where tracked_fare_id = ${first}`.execute(db)
    await trackFares(db, times(90, { resellers: [1], rate: null }))

    await updateNow(db, RULES)

    // Half of the ten seconds was left; now it is half of a hundred.
    const { vdue, rate } = await scheduleOf(db, first)
    expect(rate).toBeCloseTo(0.01)
    expect(vdue).toBeCloseTo(50)
  })

  it('is not moved by a change of the budget', async ({ db }) => {
    const [fare = 0] = await trackFares(db, times(10, { resellers: [1], rate: null }))
    await updateNow(db, RULES)
    const before = await scheduleOf(db, fare)

    await updateNow(db, { ...RULES, requestsPerSecond: 0.5 })

    expect((await scheduleOf(db, fare)).vdue).toBe(before.vdue)
  })

  it('gets what lanes leave of the part of its reseller, and the clock is as much slower', async ({
    db,
  }) => {
    const fares = await trackFares(db, times(10, { resellers: [1], rate: null }))
    await trackFares(db, times(10, { resellers: [2], rate: null }))
    await sql`
      update fare_schedule_reseller set in_lanes = 0.3, in_lanes_at = now() where reseller_id = 1
    `.execute(db)

    await updateNow(db, RULES)

    // Of its half a check a second 0.3 are used in lanes, and ten fares share the rest.
    expect(await ratesOf(db, fares)).toEqual(times(10, expect.closeTo(0.02, 3)))
    // 0.7 checks a second are left for rates of 0.2 and 0.5.
    expect(await speedOf(db)).toBeCloseTo(1, 2)
  })

  it('gets the whole part of its reseller again an hour after its last check in a lane', async ({
    db,
  }) => {
    const fares = await trackFares(db, times(10, { resellers: [1], rate: null }))
    await sql`
      update fare_schedule_reseller set in_lanes = 0.5, in_lanes_at = now() - interval '1 hour'
    `.execute(db)

    await updateNow(db, RULES)

    expect(await ratesOf(db, fares)).toEqual(times(10, expect.closeTo(0.1, 4)))
  })

  it('is due at the end of its shortest interval although others have joined since its last check', async ({
    db,
  }) => {
    const [alone = 0] = await trackFares(db, [
      { resellers: [1], minIntervalSeconds: 3_600, minIntervals: [3_600], rate: null },
    ])
    await updateNow(db, RULES)
    // As after its check: the end of its shortest interval, by the speed of a clock that it has for itself.
    await sql`
      update fare_schedule q
         set vdue = v + 3600 * speed, not_before = now() + interval '1 hour', interval_seconds = 3600
        from fare_schedule_clock
    `.execute(db)
    await trackFares(db, times(100, { resellers: [2], rate: null }))
    await updateNow(db, RULES)

    expect((await scheduleOf(db, alone)).vdue).toBeLessThanOrEqual(3_600 * (await speedOf(db)))
  })

  it('is due at most one interval from now once its shortest interval has ended', async ({
    db,
  }) => {
    const [late = 0, waiting = 0] = await trackFares(db, [
      { resellers: [1], rate: 0.1, vdue: 900 },
      { resellers: [1], rate: 0.1, vdue: 900, notBefore: 30 },
    ])

    await updateNow(db, RULES)

    expect((await scheduleOf(db, late)).vdue).toBeLessThanOrEqual(10)
    expect((await scheduleOf(db, waiting)).vdue).toBeGreaterThan(10)
  })

  it('whose times lie further ahead than their interval is due: the clock of the database was set back', async ({
    db,
  }) => {
    const [ahead = 0, waiting = 0, leased = 0] = await trackFares(db, [
      { resellers: [1], notBefore: 600, lane: 'confirmation' },
      { resellers: [1], notBefore: 50 },
      { resellers: [1] },
    ])
    await sql`update fare_schedule set lane_due_at = now() + interval '10 minutes' where tracked_fare_id = ${ahead}`.execute(
      db,
    )
    await sql`update fare_schedule set leased_until = now() + interval '10 minutes' where tracked_fare_id = ${leased}`.execute(
      db,
    )
    await sql`update fare_schedule_clock set solved_at = now() + interval '10 minutes'`.execute(db)

    const setBack: number[] = []
    await updateRates(db, RULES, { onSetBack: (seconds) => setBack.push(seconds) })

    expect(setBack).toEqual([expect.closeTo(600, -1)])
    expect((await scheduleOf(db, ahead)).notBefore).toBeLessThanOrEqual(0)
    expect((await scheduleOf(db, ahead)).laneDue).toBeLessThanOrEqual(0)
    expect((await scheduleOf(db, waiting)).notBefore).toBeGreaterThan(40)
    const { rows } = await sql<{ seconds: number }>`
      select extract(epoch from leased_until - now())::float8 as seconds from fare_schedule where tracked_fare_id = ${leased}
    `.execute(db)
    expect(rows[0]?.seconds).toBeLessThanOrEqual(65)
  })
})

describe('the solve of each minute', () => {
  it('comes sooner while fares wait to join the queue', async ({ db }) => {
    await trackFares(db, [{ resellers: [1], rate: null }])
    expect(await nextUpdateMs(db)).toBe(0)
    await updateRates(db, RULES)
    expect(await nextUpdateMs(db)).toBeGreaterThan(50_000)
    // A solve that takes long on a busy machine comes less often.
    await sql`update fare_schedule_clock set solve_seconds = 0.01`.execute(db)

    await trackFares(db, [{ resellers: [1], rate: null }])

    expect(await nextUpdateMs(db)).toBeLessThanOrEqual(5_000)
  })

  it('is made by one process at a time', async ({ db }) => {
    const [fare = 0] = await trackFares(db, [{ resellers: [1], rate: null }])

    await withSessionLock(db, 'update-rates', () => updateRates(db, RULES))
    expect((await scheduleOf(db, fare)).rate).toBeNull()
    await updateRates(db, RULES)
    expect((await scheduleOf(db, fare)).rate).not.toBeNull()
  })

  it('goes on where it was ended: the fares of a changed pace follow the next time', async ({
    db,
  }) => {
    const [fare = 0] = await trackFares(db, times(10, { resellers: [1], rate: null }))
    await updateNow(db, RULES)
    await trackFares(db, times(90, { resellers: [1], rate: null }))
    await sql`update fare_schedule_clock set solved_at = '-infinity'`.execute(db)

    await updateRates(db, RULES, { signal: AbortSignal.abort() })
    expect((await scheduleOf(db, fare)).rate).toBeCloseTo(0.1)
    expect(await nextUpdateMs(db)).toBe(0)
    await updateRates(db, RULES)

    expect((await scheduleOf(db, fare)).rate).toBeCloseTo(0.01)
  })
})
