import { describe, expect } from 'vitest'
import { type Db, sql } from '../../src/db/database.ts'
import type { LegObservation } from '../../src/upstream/observation.ts'
import { it } from '../support/test-database.ts'
import { cells, fareRows, resellerWith } from '../watch/watch-fixtures.ts'
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

/** Available at so much of a currency; null: at a price that cannot be read. */
function at(amount: string | null, currency = 'EUR'): LegObservation {
  const leg = available()
  if (leg.kind !== 'available') throw new Error('the leg is not available')
  const price = amount === null ? null : { amount, currency }
  return { ...leg, flight: { ...leg.flight, price } }
}

const kindsOf = async (db: Db, resellerId: number) =>
  (await watchFeed(db, resellerId)).map(([, kind]) => kind)

describe('a price that comes after none', () => {
  it('is told, though it is the one that was told before', async ({ db }) => {
    const fare = await trackFare(db, { returnFlightId: 'F2' })
    const ana = await watchFare(db, 'ana', fare)
    const strict = await watchFare(db, 'ben', fare, { amount: '1000' })

    await record(db, fare, minute(0), at('100.00'), at('50.00'))
    await record(db, fare, minute(1), at('100.00'), at('50.00', 'USD'))
    await record(db, fare, minute(2), at('100.00'), at('50.00'))

    const all = await kinds(db, fare)
    expect(all).toEqual(['became_available', 'price_changed', 'price_changed'])
    expect(await kindsOf(db, ana)).toEqual(all)
    expect(await kindsOf(db, strict)).toEqual(all)
  })

  it('is told after a return to bookable without a price', async ({ db }) => {
    const fare = await trackFare(db)
    const ana = await watchFare(db, 'ana', fare)
    await record(db, fare, minute(0), at('150.00'))
    await record(db, fare, minute(1), gone)
    await record(db, fare, minute(2), gone)

    await record(db, fare, minute(3), at(null))
    await record(db, fare, minute(4), at('150.00'))

    expect(await kindsOf(db, ana)).toEqual(await kinds(db, fare))
    expect((await kindsOf(db, ana)).at(-1)).toBe('price_changed')
  })
})

describe('a watch that begins while the first check of its fare is under way', () => {
  it('is told by its own first look, and nothing from before it began', async ({ db }) => {
    const ana = await resellerWith(db, [cells()], 'ana')
    const [fare] = await fareRows(db)
    const fareId = fare?.id ?? 0
    const asked = new Date()
    const ben = await resellerWith(db, [cells()], 'ben')
    await sql`update watch set began_at = ${new Date(asked.getTime() + 1)} where reseller_id = ${ben}`.execute(
      db,
    )
    await sql`update watch set began_at = ${asked} where reseller_id = ${ana}`.execute(db)

    await record(db, fareId, asked, available())
    expect(await kindsOf(db, ana)).toEqual(['became_available'])
    expect(await kindsOf(db, ben)).toEqual([])
    expect(await fareRows(db)).toMatchObject([{ lane: 'new_watch' }])
    await record(db, fareId, new Date(asked.getTime() + 60_000), available())

    expect(await kindsOf(db, ben)).toEqual(['became_available'])
    const { rows } = await sql`
      select bool_and(w.looked_at >= w.began_at) as looked, bool_and(o.detected_at >= w.began_at) as detected
        from watch w
        join watch_change c on c.watch_id = w.id
        join own_change o on o.id = c.own_change_id
       where w.reseller_id = ${ben}
    `.execute(db)
    expect(rows).toEqual([{ looked: true, detected: true }])
  })
})
