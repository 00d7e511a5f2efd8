import { describe, expect } from 'vitest'
import { type Db, sql } from '../../src/db/database.ts'
import { it } from '../support/test-database.ts'
import {
  complete,
  dispatch,
  runSchedule,
  scheduleOf,
  trackFares,
  UNCHANGED,
} from './recheck-fixtures.ts'

const RULES = { requestsPerSecond: 1, minRecheckSeconds: 10 }

async function ticketsOf(db: Db): Promise<number[]> {
  const { rows } = await sql<{
    ticket: number
  }>`select ticket from fare_schedule order by tracked_fare_id`.execute(db)
  return rows.map(({ ticket }) => ticket)
}

describe('a fare with a longest delay', () => {
  it('is checked that often while the others share the rest', async ({ db }) => {
    const fares = await trackFares(db, [
      ...Array.from({ length: 100 }, () => ({ resellers: [1] })),
      ...Array.from({ length: 10 }, () => ({ resellers: [1], maxDelaySeconds: 40 })),
    ])
    const [plain, bounded] = [fares.slice(0, 100), fares.slice(100)]

    const checksOf = await runSchedule(db, 1_000)

    // The first round still has equal tickets.
    const intervalOf = (fare: number) => {
      const late = checksOf(fare).filter((at) => at > 400)
      return ((late.at(-1) ?? 0) - (late[0] ?? 0)) / (late.length - 1)
    }
    expect(Math.max(...bounded.map(intervalOf))).toBeLessThanOrEqual(44)
    // What is left of one check a second, among a hundred.
    const others = plain.map(intervalOf)
    expect(others.reduce((sum, seconds) => sum + seconds, 0) / others.length).toBeCloseTo(
      100 / 0.75,
      -1,
    )
  })

  it('keeps its ticket when a check shows nothing of its rate', async ({ db }) => {
    const [fare = 0] = await trackFares(db, [{ resellers: [1], maxDelaySeconds: 100 }])
    await sql`update recheck_payer set tickets = 100, promised = 0.01`.execute(db)
    await sql`update fare_schedule set ticket = 1, surprise = 9, changes_per_day = 18`.execute(db)

    await complete(db, [{ fareId: fare, askedAt: new Date(), next: 'normal' }], RULES)

    const { rows } = await sql<{ ticket: number; changes: number }>`
      select ticket, changes_per_day as changes from fare_schedule
    `.execute(db)
    // 100 tickets / (100 s × 1 check a second); without a delay it would be a third.
    expect(rows).toEqual([{ ticket: expect.closeTo(1), changes: 2 }])
  })

  it('counts as the shortest interval of the workers where it is below', async ({ db }) => {
    const fares = await trackFares(db, [
      { resellers: [1], maxDelaySeconds: 100 },
      { resellers: [1], maxDelaySeconds: 100 },
    ])
    await sql`update recheck_payer set tickets = 10000, promised = 0.01`.execute(db)

    const checks = fares.map((fareId, i) => ({
      fareId,
      askedAt: new Date(),
      next: 'normal' as const,
      rating: i === 0 ? UNCHANGED : undefined,
    }))
    await complete(db, checks, { ...RULES, minRecheckSeconds: 300 })

    // 10,000 tickets / (300 s × 1 check a second).
    expect(await ticketsOf(db)).toEqual([expect.closeTo(33.33), expect.closeTo(33.33)])
  })

  it('is due at once after a late check, before fares that only reached the end of their minimum interval', async ({
    db,
  }) => {
    const [fare = 0, plain = 0] = await trackFares(db, [
      { resellers: [1], maxDelaySeconds: 60, vdue: 10 },
      { resellers: [1], vdue: 10 },
    ])
    await sql`update recheck_payer set v = 500, tickets = 100 where reseller_id = 1`.execute(db)

    const checks = [fare, plain].map((fareId) => ({
      fareId,
      askedAt: new Date(),
      next: 'normal' as const,
    }))
    await complete(db, checks, RULES)

    expect((await scheduleOf(db, fare)).vdue).toBe(500)
    // Ten seconds of one check a second, among 100 tickets.
    expect((await scheduleOf(db, plain)).vdue).toBeCloseTo(500.1)
  })

  it('is due by the tickets of the present when others were added', async ({ db }) => {
    const [fare = 0] = await trackFares(db, [
      { resellers: [1], maxDelaySeconds: 100, vdue: 20 },
      ...Array.from({ length: 100 }, () => ({ resellers: [1] })),
    ])
    await sql`
      update fare_schedule set ticket = case tracked_fare_id when ${fare}::bigint then 0.1 else 9.999 end
    `.execute(db)
    await sql`update recheck_clock set requests_per_second = 1`.execute(db)
    // Its claim is held back, so that only the due time is corrected.
    await sql`update upstream_budget set next_slot_at = clock_timestamp() + interval '1 hour'`.execute(
      db,
    )

    await dispatch(db, RULES.requestsPerSecond)

    expect((await scheduleOf(db, fare)).vdue).toBeCloseTo(0.1)
  })
})
