import { describe, expect } from 'vitest'
import { endWatches } from '../../src/fares/end.ts'
import { type Db, sql } from '../../src/platform/db/database.ts'
import { silentLog } from '../support/silent-log.ts'
import { it } from '../support/test-database.ts'
import {
  cells,
  fareRows,
  importRows,
  manyCells,
  newReseller,
  passDates,
  resellerWith,
} from '../watches/watch-fixtures.ts'
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

    expect(await kinds(db, fare)).toEqual(['first_seen', 'expired'])
    expect(await watchFeed(db, reseller)).toEqual([
      [1, 'watch_started'],
      [2, 'expired'],
    ])
    expect(await scheduled(db)).toBe(0)
    const { rows } = await sql`
      select c.state, c.outbound, c.return_leg, c.price, h.valid_to is null as open, v.censored
        from farewatch.fares_current c
        join farewatch.fare_history h using (fare_id)
        join farewatch.fare_survival v using (fare_id)
    `.execute(db)
    expect(rows).toEqual([
      {
        state: 'ended',
        outbound: null,
        return_leg: null,
        price: null,
        open: false,
        censored: true,
      },
    ])
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

const LATER = '2099-01-01'

async function onlyFare(db: Db): Promise<number> {
  const [fare] = await fareRows(db)
  if (fare === undefined) throw new Error('there is no fare')
  return fare.id
}

/** Moves the departure of the observed flight into the past. */
async function depart(db: Db): Promise<void> {
  await sql`update fare_state set departs_at = clock_timestamp() - interval '1 second'`.execute(db)
}

describe('a watch that begins after its fare has departed and expired', () => {
  async function late(db: Db): Promise<{ fare: number; late: number }> {
    await resellerWith(db, [cells()], 'first')
    const fare = await onlyFare(db)
    await record(db, fare, minute(1), available())
    await depart(db)
    await endFares(db)
    return { fare, late: await resellerWith(db, [cells()], 'late') }
  }

  it('the watch receives its end, which shows nothing of the fare', async ({ db }) => {
    const { fare, late: resellerId } = await late(db)

    expect(await endWatches({ db, log: silentLog })).toBe(1)
    expect(await endWatches({ db, log: silentLog })).toBe(0)

    expect(await watchFeed(db, resellerId)).toEqual([[1, 'expired']])
    const { rows } = await sql`
      select before #>> '{outbound,belief}' as belief, before #> '{outbound,flight}' as flight,
             last_good_check_at as good from watch_event where kind = 'expired'
    `.execute(db)
    expect(rows).toEqual([{ belief: 'unknown', flight: null, good: null }])
    expect(await fareRows(db)).toMatchObject([{ watchers: 0, ended: true, lane: null }])
    expect(await kinds(db, fare)).toEqual(['first_seen', 'expired'])
  })
})

describe('the ends of one day', () => {
  it('all ends of a day are written in one run of the job', async ({ db }) => {
    const resellerId = await newReseller(db)
    await importRows(db, resellerId, manyCells(1_100, { departs_on: LATER }))
    const fare = await onlyFare(db)
    await record(db, fare, minute(1), available())
    await sql`
      insert into fare_state (tracked_fare_id, state, asked_at)
      select f.id, s.state, s.asked_at from tracked_fare f, fare_state s where f.id <> ${fare} and f.id % 2 = 0
    `.execute(db)
    await passDates(db)

    const expired = await endFares(db)
    const ended = await endWatches({ db, log: silentLog })

    expect(expired).toBeGreaterThan(500)
    expect(expired + ended).toBeGreaterThanOrEqual(1_100)
    const { rows } = await sql`
      select (select count(*) from fare_schedule) as scheduled,
             (select count(*) from watch where ended_at is null) as active,
             (select count(*) from watch_change) as records
    `.execute(db)
    // One watch started before.
    expect(rows).toEqual([{ scheduled: 0, active: 0, records: 1_101 }])
  })
})
