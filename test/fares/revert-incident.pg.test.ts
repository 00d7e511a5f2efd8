import { describe, expect } from 'vitest'
import { endWatches } from '../../src/fares/end/end-watches.ts'
import { revertRecords } from '../../src/fares/hold/revert-records.ts'
import { type Db, sql } from '../../src/platform/db/database.ts'
import { selectOne } from '../../src/platform/db/transaction.ts'
import { resumeWatches } from '../../src/watches/change-watches.ts'
import { silentLog } from '../support/silent-log.ts'
import { it } from '../support/test-database.ts'
import {
  available,
  endFares,
  gone,
  kinds,
  minute,
  openKinds,
  passSeconds,
  recordAll,
  trackFare,
  trackFares,
  watchFares,
  watchFeed,
} from './fare-fixtures.ts'

const FARES = 5
const WRONG = available('70.00', { identity: 'VY|1|PMI-MAD|2026-12-02', itinerary: '09:00|3900' })

/** Watched fares whose first answers were recorded an hour ago, and so are not part of the span. */
async function startFares(db: Db, count = FARES) {
  const fares = await trackFares(db, count)
  const reseller = await watchFares(db, 'ana', fares)
  await sql`update tracked_fare set watchers = 1`.execute(db)
  await recordAll(db, fares, minute(0), available())
  await passSeconds(db, 600)
  return { fares, reseller }
}

/** Watched fares that are recorded with another identity, and end by its departure. */
async function endFalsely(db: Db) {
  const { fares, reseller } = await startFares(db)
  for (const n of [1, 2]) await recordAll(db, fares, minute(n), WRONG)
  await sql`update fare_state set departs_at = clock_timestamp() - interval '1 minute'`.execute(db)
  expect(await endFares(db)).toBe(FARES)
  return { fares, reseller, fare: fares[0] ?? 0 }
}

/** Reverts what was recorded in the last minutes. */
function revert(db: Db, dryRun = false) {
  const now = Date.now()
  const span = { from: new Date(now - 300_000), to: new Date(now + 60_000) }
  return revertRecords({ db, log: silentLog }, { ...span, dryRun })
}

/** An instant after the revert, whose answers count. */
function soon(seconds: number): Date {
  return new Date(Date.now() + seconds * 1000)
}

async function shown(db: Db): Promise<unknown[]> {
  const { rows } = await sql`
    select distinct outbound, state as pair, price, hidden_reason as hidden from farewatch.fares_current
  `.execute(db)
  return rows
}

/** Everything that a revert may write, but when the fares are asked next. */
async function snapshot(db: Db): Promise<unknown> {
  const { all } = await selectOne(
    sql<{ all: unknown }>`
      select jsonb_build_object(
               'states', (select jsonb_agg(to_jsonb(s) - 'asked_at' order by tracked_fare_id) from fare_state s),
               'changes', (select jsonb_agg(to_jsonb(c) order by seq) from availability_change c),
               'feeds', (select jsonb_agg(to_jsonb(c) order by reseller_id, seq) from watch_change c),
               'watches', (select jsonb_agg(to_jsonb(w) order by id) from watch w),
               'schedule', (select jsonb_agg(to_jsonb(q) - 'lane_due_at' order by tracked_fare_id) from fare_schedule q)) as all
    `,
    db,
  )
  return all
}

describe('the revert of a span of time', () => {
  it('shows the fares as unknown that ended by a false date, records nothing, and their watches go on', async ({
    db,
  }) => {
    const { fare, reseller } = await endFalsely(db)
    const before = await watchFeed(db, reseller)

    expect(await revert(db)).toEqual({ fares: FARES, watches: FARES, left: 0 })

    expect(await shown(db)).toEqual([
      { outbound: 'unknown', pair: 'unknown', price: null, hidden: 'reverted' },
    ])
    expect(await kinds(db, fare)).toEqual(['became_available', 'identity_changed', 'expired'])
    expect(await watchFeed(db, reseller)).toEqual(before)
    const open = await sql`
      select (select count(*) from watch where ended_at is not null) as ended,
             (select count(*) from fare_schedule
               where lane = 'confirmation' and lane_due_at <= clock_timestamp()) as soon,
             (select count(*) from fare_belief_version where valid_to is null) as intervals
    `.execute(db)
    expect(open.rows).toEqual([{ ended: 0, soon: FARES, intervals: FARES }])
  })

  it('the next confirmed answer is recorded against what the last record shows', async ({ db }) => {
    const { fares, fare, reseller } = await endFalsely(db)
    await revert(db)

    await recordAll(db, fares, soon(1), available())

    expect(await shown(db)).toEqual([
      { outbound: 'available', pair: 'bookable', price: '100.00', hidden: null },
    ])
    expect((await kinds(db, fare)).slice(2)).toEqual(['expired', 'became_available'])
    const { rows } = await sql<{ before: unknown; after: unknown }>`
      select before, after from availability_change where tracked_fare_id = ${fare} order by seq
    `.execute(db)
    expect(rows[3]).toEqual({ before: rows[2]?.after, after: rows[1]?.before })
    const feed = await watchFeed(db, reseller)
    expect(feed.slice(-FARES).map(([, kind]) => kind)).toEqual(
      Array.from({ length: FARES }, () => 'became_available'),
    )
  })

  it('what was recorded truly is not recorded again, nor is anything until a loss is confirmed', async ({
    db,
  }) => {
    const { fares } = await startFares(db, 2)
    const [lost = 0, right = 0] = fares
    for (const n of [1, 2]) await recordAll(db, fares, minute(n), gone)
    await revert(db)

    for (const n of [1, 3]) await recordAll(db, [lost], soon(n), gone)
    expect(await shown(db)).toEqual([
      { outbound: 'unknown', pair: 'unknown', price: null, hidden: 'reverted' },
    ])
    await passSeconds(db, 40)
    await recordAll(db, [lost], soon(1), gone)
    await recordAll(db, [right], soon(1), available())

    const both = ['became_available', 'became_unavailable']
    expect(await kinds(db, lost)).toEqual(both)
    expect(await kinds(db, right)).toEqual([...both, 'became_available'])
  })

  it('the answers after it count towards no mass', async ({ db }) => {
    const { fares } = await startFares(db, 30)
    for (const n of [1, 11]) await recordAll(db, fares, minute(n), gone)
    expect((await revert(db)).fares).toBe(30)
    await sql`update incident set closed_at = clock_timestamp() where closed_at is null`.execute(db)

    await recordAll(db, fares, soon(1), available())

    expect(await shown(db)).toEqual([
      { outbound: 'available', pair: 'bookable', price: '100.00', hidden: null },
    ])
    expect(await openKinds(db)).toEqual([])
  })

  it('a fare whose only watch is paused goes on too: when it is resumed, the watch starts with the next good check', async ({
    db,
  }) => {
    const { fare, reseller } = await endFalsely(db)
    await sql`update watch set paused_at = clock_timestamp() where tracked_fare_id = ${fare}`.execute(
      db,
    )

    expect(await revert(db)).toEqual({ fares: FARES, watches: FARES, left: 0 })
    await resumeWatches(db, { resellerId: reseller, list: 'list', references: [`w${fare}`] })
    await endWatches({ db, log: silentLog })
    const before = await watchFeed(db, reseller)
    await recordAll(db, [fare], soon(1), available())

    const { rows } = await sql`
      select s.expired_at is null as lives, s.pair, w.ended_at is null as open
        from fare_state s
        join watch w using (tracked_fare_id)
       where s.tracked_fare_id = ${fare}
    `.execute(db)
    expect(rows).toEqual([{ lives: true, pair: 'bookable', open: true }])
    const after = (await watchFeed(db, reseller)).slice(before.length)
    expect(after.map(([, kind]) => kind)).toEqual(['watch_started'])
  })

  it('changes nothing when it runs again', async ({ db }) => {
    await endFalsely(db)
    await revert(db)
    const before = await snapshot(db)

    expect(await revert(db)).toEqual({ fares: FARES, watches: 0, left: 0 })

    expect(await snapshot(db)).toEqual(before)
  })

  it('a dry run reports the same and changes nothing', async ({ db }) => {
    await endFalsely(db)
    const before = await snapshot(db)

    const planned = await revert(db, true)

    expect(await snapshot(db)).toEqual(before)
    expect(await revert(db)).toEqual(planned)
  })

  it('a fare that has departed by its true date is left as it is, and so is one without a record in the span', async ({
    db,
  }) => {
    const { fare } = await endFalsely(db)
    const other = await trackFare(db, { flightId: 'other' })
    await recordAll(db, [other], minute(1), available())
    await sql`
      update availability_change set recorded_at = recorded_at - interval '1 hour' where tracked_fare_id = ${other}
    `.execute(db)
    await sql`
      update availability_change c
         set before = jsonb_set(before, '{outbound,flight,departsAt}', '"2026-01-01 10:00"')
       where kind = 'identity_changed' and tracked_fare_id = ${fare}
    `.execute(db)

    expect(await revert(db)).toEqual({ fares: FARES - 1, watches: FARES - 1, left: 1 })

    const { rows } = await sql`
      select tracked_fare_id as fare, expired_at is not null as ended, hidden from fare_state
       where tracked_fare_id in (${fare}, ${other}) order by 1
    `.execute(db)
    expect(rows).toEqual([
      { fare, ended: true, hidden: null },
      { fare: other, ended: false, hidden: null },
    ])
  })
})
