import { describe, expect } from 'vitest'
import { endWatches } from '../../src/fares/end/end-watches.ts'
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
import { available, endFares, gone, kinds, pairStates, record, watchFeed } from './fare-fixtures.ts'

const LATER = '2099-01-01'

/** The instant of a test's n-th minute. An instant ahead of the clock would be unknown. */
function minute(n: number): Date {
  return new Date(Date.now() - 3_600_000 + n * 60_000)
}

async function onlyFare(db: Db): Promise<number> {
  const [fare] = await fareRows(db)
  if (fare === undefined) throw new Error('there is no fare')
  return fare.id
}

/** Moves the departure of the observed flight into the past. */
async function depart(db: Db): Promise<void> {
  await sql`update fare_state set departs_at = clock_timestamp() - interval '1 second'`.execute(db)
}

/** The pair state in the last record of a fare, and in its belief. */
async function lastPair(db: Db, fareId: number): Promise<unknown> {
  const { rows } = await sql`
    select (select after ->> 'pair' from farewatch.availability_changes
             where tracked_fare_id = ${fareId} order by seq desc limit 1) as recorded,
           state as believed
      from farewatch.fares_current where tracked_fare_id = ${fareId}
  `.execute(db)
  return rows[0]
}

describe('a fare that is watched again after its end', () => {
  async function revived(db: Db): Promise<{ fare: number; resellerId: number }> {
    const resellerId = await resellerWith(db, [cells({ departs_on: LATER })])
    const fare = await onlyFare(db)
    await record(db, fare, minute(1), available())
    await passDates(db)
    await endFares(db)
    await importRows(db, resellerId, [cells({ departs_on: LATER })])
    return { fare, resellerId }
  }

  it('the fare becomes available again, in the feed and in its history', async ({ db }) => {
    const { fare, resellerId } = await revived(db)
    expect(await lastPair(db, fare)).toMatchObject({ believed: 'unknown' })

    await record(db, fare, minute(5), available())
    expect(await lastPair(db, fare)).toEqual({ recorded: 'bookable', believed: 'bookable' })
    await record(db, fare, minute(6), gone)
    await record(db, fare, minute(7), gone)

    const all = ['became_available', 'expired', 'became_available', 'became_unavailable']
    expect(await kinds(db, fare)).toEqual(all)
    expect((await watchFeed(db, resellerId)).map(([, kind]) => kind)).toEqual([
      'watch_started',
      'expired',
      'watch_started',
      'became_unavailable',
    ])
    expect(await pairStates(db, fare)).toEqual(['bookable', 'bookable', 'not_bookable'])
    expect(await lastPair(db, fare)).toEqual({ recorded: 'not_bookable', believed: 'not_bookable' })
  })

  it('the fare is not believed bookable after an answer that it is unavailable', async ({ db }) => {
    const { fare } = await revived(db)

    await record(db, fare, minute(5), gone)
    expect(await pairStates(db, fare)).toEqual(['bookable'])
    await record(db, fare, minute(6), gone)

    expect(await kinds(db, fare)).toEqual(['became_available', 'expired', 'legs_changed'])
    expect(await pairStates(db, fare)).toEqual(['bookable', 'not_bookable'])
  })

  it('an answer to a request from before the end is dropped', async ({ db }) => {
    const { fare } = await revived(db)

    expect(await record(db, fare, minute(0.5), available())).toEqual([])
  })
})

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
    expect(await kinds(db, fare)).toEqual(['became_available', 'expired'])
  })

  it('an on-demand check of the fare records nothing', async ({ db }) => {
    const { fare } = await late(db)

    expect(await record(db, fare, minute(5), gone)).toEqual([])
    expect(await record(db, fare, minute(6), available())).toEqual([])

    expect(await kinds(db, fare)).toEqual(['became_available', 'expired'])
    const { rows } = await sql`
      select valid_to is null as open from farewatch.fare_history
    `.execute(db)
    expect(rows).toEqual([{ open: false }])
  })
})

describe('the record `expired`', () => {
  it('a watch that has not started receives the end of its fare', async ({ db }) => {
    await resellerWith(db, [cells()], 'first')
    const fare = await onlyFare(db)
    await record(db, fare, new Date(), available())
    await sql`update fare_state set last_good_check_at = now() - interval '2 hours'`.execute(db)
    const second = await resellerWith(db, [cells()], 'second')
    await depart(db)

    expect(await endFares(db)).toBe(1)
    expect(await endWatches({ db, log: silentLog })).toBe(0)

    expect(await watchFeed(db, second)).toEqual([[1, 'expired']])
    const { rows } = await sql`select from watch where ended_at is null`.execute(db)
    expect(rows).toEqual([])
  })

  it('a watch receives its end though its fare was never checked', async ({ db }) => {
    const row = cells({ departs_on: LATER, return_flight_id: '9' })
    const resellerId = await resellerWith(db, [row])
    await passDates(db)

    expect([await endFares(db), await endWatches({ db, log: silentLog })]).toEqual([0, 1])

    expect(await watchFeed(db, resellerId)).toEqual([[1, 'expired']])
    expect(await fareRows(db)).toMatchObject([{ watchers: 0, lane: null }])
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

  it('the job stops between two batches when its signal aborts', async ({ db }) => {
    await resellerWith(db, manyCells(600, { departs_on: LATER }))
    await passDates(db)

    expect(await endWatches({ db, log: silentLog }, AbortSignal.abort())).toBe(500)
    expect(await endWatches({ db, log: silentLog })).toBe(100)
  })
})
