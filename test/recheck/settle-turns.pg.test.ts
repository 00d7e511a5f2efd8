import { describe, expect } from 'vitest'
import { sql } from '../../src/db/database.ts'
import { inTransaction } from '../../src/db/transaction.ts'
import { giveBackTurns } from '../../src/recheck/give-back-turns.ts'
import { it } from '../support/test-database.ts'
import { dispatch, scheduleOf, settle, trackFares } from './recheck-fixtures.ts'

const ago = (seconds: number) => new Date(Date.now() - seconds * 1_000)

describe('a settled turn', () => {
  it('keeps the minimum interval from the request on, not from its record', async ({ db }) => {
    const [fare = 0] = await trackFares(db, [{}])
    await dispatch(db, 10)

    await settle(db, [{ fareId: fare, askedAt: ago(20), next: 'normal' }])

    const row = await scheduleOf(db, fare)
    expect(row.claimId).toBeNull()
    expect(row.notBefore).toBeGreaterThan(35)
    expect(row.notBefore).toBeLessThanOrEqual(41)
  })

  it('keeps the interval of its watches where that is longer', async ({ db }) => {
    const [short = 0, long = 0] = await trackFares(db, [
      { minIntervalSeconds: 5 },
      { minIntervalSeconds: 600 },
    ])

    await settle(
      db,
      [short, long].map((fareId) => ({ fareId, askedAt: ago(0), next: 'normal' })),
    )

    expect((await scheduleOf(db, short)).notBefore).toBeCloseTo(60, -1)
    expect((await scheduleOf(db, long)).notBefore).toBeCloseTo(600, -1)
  })

  it('waits no longer for a clock that runs ahead', async ({ db }) => {
    const [fare = 0] = await trackFares(db, [{}])

    await settle(db, [{ fareId: fare, askedAt: ago(-3_600), next: 'normal' }])

    expect((await scheduleOf(db, fare)).notBefore).toBeLessThanOrEqual(60)
  })

  it('lifts what lies behind the clock to what its interval is worth', async ({ db }) => {
    const [behind = 0, ahead = 0] = await trackFares(db, [{ vdue: 1 }, { vdue: 99 }])
    await sql`update recheck_clock set v = 10, tickets = 200`.execute(db)

    await settle(
      db,
      [behind, ahead].map((fareId) => ({ fareId, askedAt: ago(0), next: 'normal' })),
    )

    // 60 s of 10 requests a second, among 200 tickets.
    expect((await scheduleOf(db, behind)).vdue).toBe(13)
    expect((await scheduleOf(db, ahead)).vdue).toBe(99)
  })

  it('is looked at again in about twenty seconds after a first loss', async ({ db }) => {
    const [fare = 0] = await trackFares(db, [{}])

    await settle(db, [{ fareId: fare, askedAt: ago(0), next: 'confirm' }])

    const row = await scheduleOf(db, fare)
    expect(row.lane).toBe('confirmation')
    expect(row.laneDue).toBeCloseTo(20, -1)
  })

  it('has one early retry, and then waits for its turn', async ({ db }) => {
    const [fare = 0] = await trackFares(db, [{}])
    const fail = () => settle(db, [{ fareId: fare, askedAt: ago(0), next: 'retry' }])

    await fail()
    expect((await scheduleOf(db, fare)).lane).toBe('retry')
    await fail()

    expect((await scheduleOf(db, fare)).lane).toBeNull()
  })
})

it('gives fares back that were not asked, and only to who holds their claim', async ({ db }) => {
  const [fare = 0] = await trackFares(db, [{ lane: 'confirmation' }])
  await dispatch(db, 10)
  const { claimId } = await scheduleOf(db, fare)
  const giveBack = (id: string) => inTransaction(db, (tx) => giveBackTurns(tx, id, [fare]))

  await giveBack('00000000-0000-4000-8000-000000000000')
  expect((await scheduleOf(db, fare)).claimId).toBe(claimId)
  await giveBack(claimId ?? '')

  const row = await scheduleOf(db, fare)
  expect(row.claimId).toBeNull()
  expect(row.notBefore).toBeLessThanOrEqual(0)
  expect(row.laneDue).toBeLessThanOrEqual(0)
})
