import { describe, expect } from 'vitest'
import { sql } from '../../src/platform/db/database.ts'
import { findFare, readTimeline } from '../../src/views/fare-operations.ts'
import {
  available,
  gone,
  keepFresh,
  minute,
  record,
  trackFare,
  watchFare,
} from '../fares/fare-fixtures.ts'
import { it } from '../support/test-database.ts'

describe('findFare', () => {
  it('a fare without a check has an unknown belief and an expected check', async ({ db }) => {
    const fareId = await trackFare(db, { flightId: '1234', returnFlightId: '77' })
    await watchFare(db, 'alpha', fareId)

    expect(await findFare(db, fareId)).toMatchObject({
      fareId,
      flightId: '1234',
      returnFlightId: '77',
      outbound: { belief: 'unknown', flight: null },
      return: { belief: 'unknown', flight: null },
      state: 'unknown',
      price: null,
      lastGoodCheckAt: null,
      next: { at: expect.any(Date) as Date, why: expect.stringContaining('within the budget') },
    })
  })

  it('a fare with a pending loss has its belief, its last price and its confirmation', async ({
    db,
  }) => {
    const fareId = await trackFare(db)
    await keepFresh(db)
    await record(db, fareId, minute(1), available('100.00'))
    await record(db, fareId, minute(2), gone)

    expect(await findFare(db, fareId)).toMatchObject({
      outbound: { belief: 'available', price: { amount: '100.00', currency: 'EUR' } },
      return: null,
      state: 'bookable',
      price: { amount: '100.00', currency: 'EUR' },
      lastGoodCheckAt: minute(1),
      contradictedSince: minute(2),
      next: { why: expect.stringContaining('contradicts the belief') },
    })
  })

  it('a claimed fare is being checked, and an unscheduled fare has no next check', async ({
    db,
  }) => {
    const claimed = await trackFare(db, { flightId: '1' })
    const unscheduled = await trackFare(db, { flightId: '2' })
    await sql`
      update fare_schedule set claim_id = uuidv7(), slot_at = clock_timestamp() where tracked_fare_id = ${claimed}
    `.execute(db)
    await sql`delete from fare_schedule where tracked_fare_id = ${unscheduled}`.execute(db)

    expect((await findFare(db, claimed))?.next?.why).toBe('it is being checked')
    expect((await findFare(db, unscheduled))?.next).toBeNull()
    expect(await findFare(db, 999)).toBeUndefined()
  })
})

it('readTimeline reads the intervals of belief, newest first', async ({ db }) => {
  const fareId = await trackFare(db)
  await record(db, fareId, minute(1), available('100.00'))
  await record(db, fareId, minute(2), available('90.00'))

  const timeline = await readTimeline(db, fareId, 10)

  expect(timeline).toEqual([
    {
      validFrom: minute(2),
      validTo: null,
      state: 'bookable',
      outbound: 'available',
      return: null,
      price: { amount: '90.00', currency: 'EUR' },
      priceCheckedAt: minute(2),
      priceReason: null,
    },
    expect.objectContaining({
      validFrom: minute(1),
      validTo: minute(2),
      price: { amount: '100.00', currency: 'EUR' },
      priceCheckedAt: minute(1),
    }),
  ])
  expect(await readTimeline(db, fareId, 1)).toHaveLength(1)
})
