import { describe, expect } from 'vitest'
import { sql } from '../../src/platform/db/database.ts'
import { inTransaction } from '../../src/platform/db/transaction.ts'
import { release } from '../../src/schedule/claim.ts'
import { it } from '../support/test-database.ts'
import { complete, dispatch, scheduleOf, trackFares } from './schedule-fixtures.ts'

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

  it('the interval of the watches counts where it is longer', async ({ db }) => {
    const [short = 0, long = 0] = await trackFares(db, [
      { minIntervalSeconds: 5 },
      { minIntervalSeconds: 600 },
    ])

    await complete(
      db,
      [short, long].map((fareId) => ({ fareId, askedAt: ago(0), next: 'normal' })),
    )

    expect((await scheduleOf(db, short)).notBefore).toBeCloseTo(60, -1)
    expect((await scheduleOf(db, long)).notBefore).toBeCloseTo(600, -1)
  })

  it('a request from a clock that runs ahead delays the next check no longer', async ({ db }) => {
    const [fare = 0] = await trackFares(db, [{}])

    await complete(db, [{ fareId: fare, askedAt: ago(-3_600), next: 'normal' }])

    expect((await scheduleOf(db, fare)).notBefore).toBeLessThanOrEqual(60)
  })

  it('a virtual due time behind the clock is raised to the end of the minimum interval', async ({
    db,
  }) => {
    const [behind = 0, ahead = 0] = await trackFares(db, [{ vdue: 1 }, { vdue: 99 }])
    await sql`update fare_schedule_clock set v = 10, speed = 0.05`.execute(db)

    await complete(
      db,
      [behind, ahead].map((fareId) => ({ fareId, askedAt: ago(0), next: 'normal' })),
    )

    // 60 s of 10 requests a second, among 200 tickets.
    expect((await scheduleOf(db, behind)).vdue).toBe(13)
    expect((await scheduleOf(db, ahead)).vdue).toBe(99)
  })

  it('a confirmation is due at the instant that the decision names', async ({ db }) => {
    const [fare = 0] = await trackFares(db, [{}])

    await complete(db, [{ fareId: fare, askedAt: ago(0), next: { confirmAt: ago(-20) } }])

    const row = await scheduleOf(db, fare)
    expect(row.lane).toBe('confirmation')
    expect(row.laneDue).toBeCloseTo(20, -1)
  })

  it('a failure has one early retry, and then the next check by the schedule', async ({ db }) => {
    const [fare = 0] = await trackFares(db, [{}])
    const fail = () => complete(db, [{ fareId: fare, askedAt: ago(0), next: 'retry' }])

    await fail()
    expect((await scheduleOf(db, fare)).lane).toBe('retry')
    await fail()

    expect((await scheduleOf(db, fare)).lane).toBeNull()
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
})
