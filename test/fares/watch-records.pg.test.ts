import { describe, expect } from 'vitest'
import type { Db } from '../../src/platform/db/database.ts'
import type { LegObservation } from '../../src/upstream/observation.ts'
import { it } from '../support/test-database.ts'
import {
  available,
  gone,
  kinds,
  minute,
  record,
  trackFare,
  watchFare,
  watchFeed,
} from './fare-fixtures.ts'

/** An available leg at this amount, or at an unreadable price if the amount is null. */
function at(amount: string | null, currency = 'EUR'): LegObservation {
  const leg = available()
  if (leg.kind !== 'available') throw new Error('the leg is not available')
  const price = amount === null ? null : { amount, currency }
  return { ...leg, flight: { ...leg.flight, price } }
}

const kindsOf = async (db: Db, resellerId: number) =>
  (await watchFeed(db, resellerId)).map(([, kind]) => kind)

describe('a price after a record without one', () => {
  it('a first price after a record without one is reported, though it is the old price', async ({
    db,
  }) => {
    const fare = await trackFare(db, { returnFlightId: 'F2' })
    const ana = await watchFare(db, 'ana', fare)
    const strict = await watchFare(db, 'ben', fare, { amount: '1000' })

    await record(db, fare, minute(0), at('100.00'), at('50.00'))
    // Each change of the currency needs a second answer.
    for (const n of [1, 2]) {
      await record(db, fare, minute(n), at('100.00'), at('50.00', 'USD'))
    }
    // More than ten minutes later, so it is no return of a moment.
    for (const n of [13, 14]) await record(db, fare, minute(n), at('100.00'), at('50.00'))

    const [first, ...later] = await kinds(db, fare)
    expect([first, ...later]).toEqual(['became_available', 'price_changed', 'price_changed'])
    expect(await kindsOf(db, ana)).toEqual(['watch_started', ...later])
    expect(await kindsOf(db, strict)).toEqual(['watch_started', ...later])
  })

  it('a price is reported after the fare came back without one', async ({ db }) => {
    const fare = await trackFare(db)
    const ana = await watchFare(db, 'ana', fare)
    await record(db, fare, minute(0), at('150.00'))
    await record(db, fare, minute(1), gone)
    await record(db, fare, minute(2), gone)

    await record(db, fare, minute(13), at(null))
    for (const n of [14, 15]) await record(db, fare, minute(n), at('150.00'))

    const [, ...later] = await kinds(db, fare)
    expect(await kindsOf(db, ana)).toEqual(['watch_started', ...later])
    expect(later.at(-1)).toBe('price_changed')
  })
})
