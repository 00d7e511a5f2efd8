import { describe, expect } from 'vitest'
import { sql } from '../../src/platform/db/database.ts'
import { inTransaction } from '../../src/platform/db/transaction.ts'
import { release } from '../../src/schedule/claim.ts'
import { it } from '../support/test-database.ts'
import { complete, dispatch, scheduleOf, trackFares, UNCHANGED } from './schedule-fixtures.ts'

const ago = (seconds: number) => new Date(Date.now() - seconds * 1_000)

describe('a completed check', () => {
  it('the minimum interval counts from the request, not from its record', async ({ db }) => {
    const [fare = 0] = await trackFares(db, [{}])
    await dispatch(db, 10)

    await complete(db, [{ fareId: fare, askedAt: ago(20), next: 'normal' }])

    const row = await scheduleOf(db, fare)
    expect(row.claimId).toBeNull()
    expect(row.notBefore).toBeGreaterThan(35)
    expect(row.notBefore).toBeLessThanOrEqual(41)
  })

  it('a request from a clock that runs ahead delays the next check no longer', async ({ db }) => {
    const [fare = 0] = await trackFares(db, [{}])

    await complete(db, [{ fareId: fare, askedAt: ago(-3_600), next: 'normal' }])

    expect((await scheduleOf(db, fare)).notBefore).toBeLessThanOrEqual(60)
  })

  it('a check of a reseller moves the fare in all its queues, each by its own score and speed', async ({
    db,
  }) => {
    const [fare = 0, other = 0] = await trackFares(db, [
      { resellers: [1, 2], weights: [4, 1], minIntervals: [null, 600] },
      { resellers: [2], vdue: 5 },
    ])
    await sql`update reseller_queue set v = 10 * reseller_id, speed = 0.5`.execute(db)
    // Each could check its fares every second: by that the speeds are at least 1.
    const rules = { requestsPerSecond: 1, minRecheckSeconds: 1 }
    await sql`update schedule_facts set requests_per_second = 0.01, min_recheck_seconds = 1`.execute(
      db,
    )

    await complete(db, [{ fareId: fare, askedAt: ago(0), next: 'normal' }], rules)

    const { turns } = await scheduleOf(db, fare)
    const [first, second] = turns
    // √(4 · 1.1 · 1), and the 600 s of the second.
    expect(first?.vdue).toBeCloseTo(10 + Math.max(1 / Math.sqrt(4.4), 1 * 0.5), 9)
    expect(second?.vdue).toBeCloseTo(20 + 600 * 0.5, 9)
    expect((await scheduleOf(db, other)).turns[0]?.vdue).toBe(5)
  })

  it('a score counts at least as a fifth of the mean of its reseller, and at most three changes a round', async ({
    db,
  }) => {
    const [still = 0, lively = 0] = await trackFares(db, [
      { score: 100 },
      { score: 100 },
      ...Array.from({ length: 8 }, () => ({ score: 100 })),
    ])
    await sql`update schedule_facts set requests_per_second = 10 / 86400.0`.execute(db)
    await sql`
      update fare_schedule set rated_state = 'available', available_exposure = 100,
             available_changes = case when tracked_fare_id = ${lively}::bigint then 1e6 else 0 end
    `.execute(db)
    const scores = async (of: number) => {
      await complete(db, [{ fareId: of, askedAt: ago(0), next: 'normal' }])
      return (await scheduleOf(db, of)).turns[0]?.score
    }

    expect(await scores(still)).toBeCloseTo(20, 9)
    await sql`update reseller_queue set scores = 0`.execute(db)
    // Ten fares, ten checks a day.
    expect(await scores(lively)).toBeCloseTo(Math.sqrt(1.1 * 3), 9)
  })

  it('a longest delay counts from the request, and is stretched where the part of the reseller shrinks', async ({
    db,
  }) => {
    const [asked = 0] = await trackFares(db, [{ maxDelaySeconds: 100 }])
    const dueAt = async (requestsPerSecond: number) => {
      await sql`update schedule_facts set requests_per_second = ${requestsPerSecond}`.execute(db)
      await complete(db, [{ fareId: asked, askedAt: ago(20), next: 'normal' }])
      const { lane, laneDue } = await scheduleOf(db, asked)
      expect(lane).toBe('max_delay')
      return laneDue
    }

    expect(await dueAt(1)).toBeCloseTo(80, -1)
    // It needs a hundredth of a check a second; seven tenths of the half are left for it.
    expect(await dueAt(0.005)).toBeCloseTo(100 / 0.35 - 20, -1)
    // It is the usual time between two checks: its turn would come later.
    expect((await scheduleOf(db, asked)).rate).toBeCloseTo(0.35 / 100, 4)
  })

  it('a failure has one early retry, and then the next check by the schedule', async ({ db }) => {
    const [fare = 0] = await trackFares(db, [{}])
    const fail = () => complete(db, [{ fareId: fare, askedAt: ago(0), next: 'retry' }])

    await fail()
    expect((await scheduleOf(db, fare)).lane).toBe('retry')
    await fail()

    expect((await scheduleOf(db, fare)).lane).toBeNull()
  })

  it('a check on demand, or one that failed, leaves the estimate, and the next interval begins at the former', async ({
    db,
  }) => {
    const [fare = 0] = await trackFares(db, [{}])
    const start = Date.UTC(2026, 0, 1)
    const check = (hour: number, given: object) =>
      complete(db, [
        { fareId: fare, askedAt: new Date(start + hour * 3_600_000), next: 'normal', ...given },
      ])
    const estimate = async () => {
      const { rows } = await sql`
        select available_changes as changes, available_exposure as days from fare_schedule
      `.execute(db)
      return rows[0]
    }

    await check(0, { rating: UNCHANGED })
    await check(24, { next: 'retry' })
    await check(36, { rating: { ...UNCHANGED, changed: true, value: 1, counts: false } })
    expect(await estimate()).toEqual({ changes: 0, days: 0 })

    await check(48, { rating: UNCHANGED })
    expect(await estimate()).toEqual({ changes: 0, days: 0.5 })
  })
})

it('the claim on a fare that was not checked is released, and no other claim', async ({ db }) => {
  const [fare = 0] = await trackFares(db, [{ lane: 'confirmation' }])
  await dispatch(db, 10)
  const { claimId } = await scheduleOf(db, fare)
  const releaseClaim = (id: string) => inTransaction(db, (tx) => release(tx, id, [fare]))

  await releaseClaim('00000000-0000-4000-8000-000000000000')
  expect((await scheduleOf(db, fare)).claimId).toBe(claimId)
  await releaseClaim(claimId ?? '')

  const row = await scheduleOf(db, fare)
  expect(row.claimId).toBeNull()
  expect(row.notBefore).toBeLessThanOrEqual(0)
  expect(row.laneDue).toBeLessThanOrEqual(0)
  // The same of one that had its turn while it was urgent: it waits there for the lease.
  await sql`update fare_schedule set claim_id = ${claimId}, leased_until = clock_timestamp() + interval '1 minute'`.execute(
    db,
  )
  await sql`update fare_schedule set lane_due_at = leased_until`.execute(db)
  await releaseClaim(claimId ?? '')
  expect((await scheduleOf(db, fare)).laneDue).toBeLessThanOrEqual(0)
})
