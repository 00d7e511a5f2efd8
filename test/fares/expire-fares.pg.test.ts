import { describe, expect } from 'vitest'
import { type Db, sql } from '../../src/platform/db/database.ts'
import { it } from '../support/test-database.ts'
import {
  available,
  endFares,
  gone,
  kinds,
  minute,
  record,
  trackFare,
  watchFare,
  watchFeed,
} from './fare-fixtures.ts'

const BEFORE = Date.now() - 6 * 3_600_000

async function scheduled(db: Db): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*) as count from fare_schedule
  `.execute(db)
  return rows[0]?.count ?? -1
}

/** Moves the departure to so many hours from now. */
async function departIn(db: Db, fareId: number, hours: number): Promise<void> {
  await sql`
    update fare_state set departs_at = clock_timestamp() + make_interval(hours => ${hours}) where tracked_fare_id = ${fareId}
  `.execute(db)
}

/** The instant of a test's n-th minute, hours before this one. */
function past(n: number): Date {
  return new Date(BEFORE + n * 60_000)
}

async function spells(db: Db): Promise<unknown[]> {
  const { rows } = await sql`
    select valid_to as to, censored, lasted_seconds::int as lasted
      from farewatch.fare_survival order by valid_from
  `.execute(db)
  return rows
}

describe('the end of a fare', () => {
  it('a fare ends once, with a record, when it has departed', async ({ db }) => {
    const fare = await trackFare(db)
    const reseller = await watchFare(db, 'ana', fare)
    await record(db, fare, minute(0), available())
    await departIn(db, fare, 1)
    expect(await endFares(db)).toBe(0)

    await departIn(db, fare, -1)
    expect(await endFares(db)).toBe(1)
    expect(await endFares(db)).toBe(0)

    expect(await kinds(db, fare)).toEqual(['became_available', 'expired'])
    expect(await watchFeed(db, reseller)).toEqual([
      [1, 'watch_started'],
      [2, 'expired'],
    ])
    expect(await scheduled(db)).toBe(0)
    const { rows } = await sql`
      select c.state as pair, c.price, h.valid_to is null as open, v.censored
        from farewatch.fares_current c
        join farewatch.fare_history h using (tracked_fare_id)
        join farewatch.fare_survival v using (tracked_fare_id)
    `.execute(db)
    expect(rows).toEqual([{ pair: 'not_bookable', price: null, open: false, censored: true }])
  })

  it('shows no last check that lies ahead of it because the clock was set back', async ({ db }) => {
    const fare = await trackFare(db)
    await watchFare(db, 'ana', fare)
    await record(db, fare, minute(0), available())
    await sql`update fare_state set last_good_check_at = clock_timestamp() + interval '50 minutes'`.execute(
      db,
    )
    await departIn(db, fare, -1)

    expect(await endFares(db)).toBe(1)

    const { rows } = await sql`
      select last_good_check_at as checked from availability_change where kind = 'expired'
    `.execute(db)
    expect(rows).toEqual([{ checked: null }])
  })

  it('a fare that goes on lasted until its last good check, not until now', async ({ db }) => {
    const fare = await trackFare(db)
    await record(db, fare, minute(0), available())
    await record(db, fare, minute(7), available())
    await record(db, fare, minute(9), { kind: 'unknown', reason: 'timeout' })

    expect(await spells(db)).toEqual([{ to: null, censored: true, lasted: 420 }])
  })

  it('a fare that expires while bookable lasted until its last good check, and its end is censored', async ({
    db,
  }) => {
    const fare = await trackFare(db)
    await record(db, fare, past(0), available())
    await record(db, fare, past(7), available())
    await record(db, fare, past(9), { kind: 'unknown', reason: 'timeout' })
    await departIn(db, fare, -1)

    await endFares(db)

    expect(await spells(db)).toEqual([{ to: null, censored: true, lasted: 420 }])
  })

  it('a fare that is watched again after its end begins a new spell', async ({ db }) => {
    const fare = await trackFare(db)
    await record(db, fare, past(0), available())
    await record(db, fare, past(7), available())
    await sql`update tracked_fare set departs_on = (now() - interval '3 days')::date`.execute(db)
    await endFares(db)
    await sql`update fare_state set expired_at = null`.execute(db)
    await sql`update fare_belief_version set valid_to = ${past(10)}`.execute(db)
    await sql`update availability_change set detected_at = ${past(10)} where kind = 'expired'`.execute(
      db,
    )

    await record(db, fare, past(20), available())
    await record(db, fare, past(21), gone)
    await record(db, fare, past(21.5), gone)

    expect(await spells(db)).toEqual([
      { to: null, censored: true, lasted: 420 },
      { to: past(21.5), censored: false, lasted: 90 },
    ])
  })

  it('a fare expires when the departure date of its watches has passed everywhere', async ({
    db,
  }) => {
    const fare = await trackFare(db)
    await record(db, fare, minute(0), available())
    await sql`update tracked_fare set departs_on = (now() - interval '3 days')::date`.execute(db)

    expect(await endFares(db)).toBe(1)
  })

  it('a fare that was never available expires after thirty days', async ({ db }) => {
    const [never, once] = [await trackFare(db), await trackFare(db, { flightId: 'F2' })]
    await record(db, never, minute(0), { kind: 'unknown', reason: 'id_missing' })
    await record(db, once, minute(0), available())
    await sql`
      update tracked_fare set created_at = now() - interval '31 days'
    `.execute(db)

    expect(await endFares(db)).toBe(1)
    expect(await scheduled(db)).toBe(1)
  })
})
