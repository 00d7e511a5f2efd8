import { describe, expect } from 'vitest'
import { sql } from '../../src/platform/db/database.ts'
import { it } from '../support/test-database.ts'
import {
  available,
  gone,
  keepFresh,
  kinds,
  minute,
  pairStates,
  record,
  trackFare,
  trackFares,
  watchFare,
  watchFares,
  watchFeed,
} from './fare-fixtures.ts'

describe('the first record of a fare', () => {
  it('is first_seen, whether or not it can be booked, and only what follows is a loss or a return', async ({
    db,
  }) => {
    const [open = 0, lost = 0] = await trackFares(db, 2)
    const reseller = await watchFares(db, 'ana', [open, lost])

    await record(db, open, minute(0), available())
    for (const n of [1, 2]) await record(db, open, minute(n), gone)
    for (const n of [0, 1]) await record(db, lost, minute(n), gone)
    // More than ten minutes later, so it is no return of a moment.
    for (const fare of [open, lost]) await record(db, fare, minute(15), available())

    expect(await kinds(db, open)).toEqual(['first_seen', 'became_unavailable', 'became_available'])
    expect(await kinds(db, lost)).toEqual(['first_seen', 'became_available'])
    const { rows } = await sql`
      select kind, state_before, count(*) from farewatch.availability_changes group by 1, 2 order by 1
    `.execute(db)
    expect(rows).toEqual([
      { kind: 'became_available', state_before: 'not_bookable', count: 2 },
      { kind: 'became_unavailable', state_before: 'bookable', count: 1 },
      { kind: 'first_seen', state_before: 'unknown', count: 2 },
    ])
    expect((await watchFeed(db, reseller)).map(([, kind]) => kind)).toEqual([
      'watch_started',
      'became_unavailable',
      'watch_started',
      'became_available',
      'became_available',
    ])
  })
})

describe('a recorded check', () => {
  // Fault: The price cannot be read while the flight is available, is zero, or is for other passengers.
  it('a price that no answer shows any more keeps its instant, has a reason, and is unknown when it is stale', async ({
    db,
  }) => {
    const fare = await trackFare(db)
    await keepFresh(db)
    await record(db, fare, minute(0), available('80.00'))
    await record(db, fare, minute(1), available('80.00', { price: null }))
    const current = async () => {
      const { rows } = await sql`
        select state as pair, price::text, currency, price_checked_at, price_reason, stale
          from farewatch.fares_current where fare_id = ${fare}
      `.execute(db)
      return rows[0]
    }

    const fresh = await current()
    await sql`update fare_state set price_checked_at = price_checked_at - interval '1 day'`.execute(
      db,
    )
    const stale = await current()
    await record(db, fare, minute(2), available('80.00'))
    const shown = await current()
    await record(db, fare, minute(3), available('88.00'))

    const bookable = { pair: 'bookable', stale: false }
    const known = { ...bookable, price: '80.00', currency: 'EUR' }
    expect(fresh).toEqual({ ...known, price_checked_at: minute(0), price_reason: 'unreadable' })
    expect(stale).toMatchObject({
      ...bookable,
      price: null,
      currency: null,
      price_reason: 'unreadable',
    })
    expect(shown).toEqual({ ...known, price_checked_at: minute(2), price_reason: null })
    const { rows: history } = await sql`
      select price::text, price_checked_at, price_reason from farewatch.fare_history order by valid_from
    `.execute(db)
    expect(history).toEqual([
      { price: '80.00', price_checked_at: minute(2), price_reason: null },
      { price: '88.00', price_checked_at: minute(3), price_reason: null },
    ])
  })

  // Fault: One answer shows another currency, or a price changed by more than a tenth. The believed price stays until a second
  // check, about 20 s later, shows the same price.
  it('a price in another currency waits for its confirmation across transactions', async ({
    db,
  }) => {
    const fare = await trackFare(db)
    await keepFresh(db)
    const reseller = await watchFare(db, 'ana', fare)
    const dollars = available('', { price: { amount: '80.00', currency: 'USD' } })
    await record(db, fare, minute(0), available('80.00'))

    await record(db, fare, minute(1), dollars)
    const first = await kinds(db, fare)
    const { rows: pending } = await sql`
      select price::text, currency, price_reason, lane
        from farewatch.fares_current join fare_schedule on tracked_fare_id = fare_id
    `.execute(db)
    await record(db, fare, minute(2), dollars)

    expect(first).toEqual(['first_seen'])
    expect(pending).toEqual([
      { price: '80.00', currency: 'EUR', price_reason: 'unconfirmed', lane: 'confirmation' },
    ])
    expect(await watchFeed(db, reseller)).toEqual([
      [1, 'watch_started'],
      [2, 'price_changed'],
    ])
  })

  it('after the clock of the database was set back, a belief is unknown until its next check, which counts', async ({
    db,
  }) => {
    const fare = await trackFare(db)
    await record(db, fare, minute(88), available('80.00'))
    await record(db, fare, minute(89), gone)
    const { rows: current } = await sql`
      select state as pair, price, price_checked_at, price_reason, last_good_check_at, age_seconds as age, stale
        from farewatch.fares_current
    `.execute(db)

    const counted = await record(db, fare, minute(0), gone)
    const afterOne = await kinds(db, fare)
    await record(db, fare, minute(1), gone)

    const unknown = { price: null, price_checked_at: null, last_good_check_at: null, age: null }
    expect(current).toEqual([{ ...unknown, pair: 'bookable', price_reason: 'stale', stale: true }])
    expect(counted).toHaveLength(1)
    // The first loss does not count: it is unknown how long ago it was.
    expect(afterOne).toEqual(['first_seen'])
    const { rows: changes } = await sql`
      select kind, last_good_check_at, detected_at from farewatch.availability_changes where seq > 1
    `.execute(db)
    expect(changes).toEqual([
      { kind: 'became_unavailable', last_good_check_at: null, detected_at: minute(0) },
    ])
    expect(await pairStates(db, fare)).toEqual(['bookable', 'not_bookable'])
  })

  it('a check that finds nothing new adds no row', async ({ db }) => {
    const fare = await trackFare(db)
    await record(db, fare, minute(0), available())
    const count = async () => {
      const { rows } = await sql<{ count: number }>`
        select (select count(*) from fare_belief_version) + (select count(*) from availability_change)
             + (select count(*) from evidence) + (select count(*) from fare_state) as count
      `.execute(db)
      return rows[0]?.count
    }
    const before = await count()

    for (let i = 1; i <= 20; i += 1) await record(db, fare, minute(i), available())

    expect(await count()).toBe(before)
  })

  it('the answer behind changes is stored once, with its provenance', async ({ db }) => {
    const [a, b] = [await trackFare(db), await trackFare(db, { flightId: 'F2' })]
    await record(db, a, minute(0), available())
    await record(db, b, minute(0), available())

    const { rows } = await sql<{ evidence: number; latency: number }>`
      select (select count(*) from evidence) as evidence, (provenance ->> 'latencyMs')::int as latency
        from availability_change join evidence e on e.hash = evidence_hash
    `.execute(db)
    expect(rows).toEqual([
      { evidence: 1, latency: 12 },
      { evidence: 1, latency: 12 },
    ])
  })
})

describe('the feeds of resellers', () => {
  it('paused watches and disabled resellers receive no record', async ({ db }) => {
    const fare = await trackFare(db)
    const paused = await watchFare(db, 'paused', fare)
    const disabled = await watchFare(db, 'disabled', fare)
    await sql`update watch set paused_at = now() where reseller_id = ${paused}`.execute(db)
    await sql`update reseller set disabled_at = now() where id = ${disabled}`.execute(db)

    await record(db, fare, minute(0), available())

    expect(await watchFeed(db, paused)).toEqual([])
    expect(await watchFeed(db, disabled)).toEqual([])
  })

  it('a price is reported once it has moved by the threshold since the last record', async ({
    db,
  }) => {
    const fare = await trackFare(db)
    const any = await watchFare(db, 'any', fare)
    const five = await watchFare(db, 'five', fare, { amount: '5' })
    const tenth = await watchFare(db, 'tenth', fare, { percent: '10' })
    const from = Date.now() - 300_000
    for (const [i, amount] of ['100.00', '103.00', '105.00', '104.00', '111.00'].entries()) {
      await record(db, fare, new Date(from + 60_000 * i), available(amount))
    }

    const records = async (id: number) => (await watchFeed(db, id)).length - 1
    expect(await records(any)).toBe(4)
    expect(await records(five)).toBe(2)
    expect(await records(tenth)).toBe(1)
  })
})
