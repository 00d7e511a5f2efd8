import { describe, expect } from 'vitest'
import { lockFares } from '../../src/fares/beliefs.ts'
import { recordChecks } from '../../src/fares/record.ts'
import { publicFare } from '../../src/feeds/public-fare.ts'
import type { WatchChange } from '../../src/feeds/watch-record.ts'
import type { HeldKind } from '../../src/platform/base/change-kinds.ts'
import { type Db, sql } from '../../src/platform/db/database.ts'
import { inTransaction } from '../../src/platform/db/transaction.ts'
import type { LegObservation } from '../../src/upstream/observation.ts'
import { pauseWatches, resumeWatches } from '../../src/watches/change-watches.ts'
import { brokenFeeds } from '../chaos/records.ts'
import { readFareRecords } from '../feeds/fare-records.ts'
import { it } from '../support/test-database.ts'
import {
  type Cells,
  cells,
  fareRows,
  importRows,
  manyCells,
  newReseller,
  resellerWith,
} from '../watches/watch-fixtures.ts'
import { available, gone, kinds, observation, RULES, record, silent } from './fare-fixtures.ts'

/** The instant that many seconds before now. */
function ago(seconds: number): Date {
  return new Date(Date.now() - seconds * 1_000)
}

/** A fare that another reseller watches, after these answers; each so many seconds ago. */
async function fareAfter(
  db: Db,
  answers: readonly (readonly [number, LegObservation, LegObservation?])[],
  row: Cells = {},
): Promise<number> {
  await resellerWith(db, [cells(row)], 'other')
  const [fare] = await fareRows(db)
  const fareId = fare?.id ?? 0
  for (const [seconds, ...legs] of answers) await record(db, fareId, ago(seconds), ...legs)
  return fareId
}

/** Records a scheduled check while changes of a kind are a mass. */
async function recordInMass(
  db: Db,
  fareId: number,
  { at, leg, kind }: { at: Date; leg: LegObservation; kind: HeldKind },
): Promise<void> {
  const check = { fareId, askedAt: at, why: 'scheduled' as const, observation: observation(leg) }
  await sql`
    insert into asked_flight (flight_id, fare_id, asked_at, is_available, shows, since, counts_until)
    select 'other ' || i, 0, ${at}::timestamptz, ${kind !== 'became_available'}, ${kind}, ${at}, ${at}::timestamptz + interval '5 minutes'
      from generate_series(1, 40) i
  `.execute(db)
  await inTransaction(db, async (tx) => {
    const locked = await lockFares(tx, [fareId])
    await recordChecks(tx, { checks: [check], locked, rules: RULES, claimId: null })
  })
}

async function feedOf(db: Db, resellerId: number): Promise<WatchChange[]> {
  return readFareRecords({ db }, resellerId, { after: 0, limit: 1_000 })
}

const kindsOf = async (db: Db, resellerId: number) =>
  (await feedOf(db, resellerId)).map(({ kind }) => kind)

const lanes = async (db: Db) => (await fareRows(db)).map(({ lane }) => lane)

describe('a watch of a fare with a fresh belief', () => {
  it('the watch starts in the import that adds it, and no check is made for it', async ({ db }) => {
    const fare = await fareAfter(db, [
      [120, silent],
      [60, available('80.00')],
      [30, silent],
    ])
    const lane = await lanes(db)
    const ana = await resellerWith(db, [cells()], 'ana')

    const [started, ...more] = await feedOf(db, ana)

    const { rows } = await sql<{ at: Date }>`
      select last_good_check_at as at from fare_state where tracked_fare_id = ${fare}
    `.execute(db)
    expect(more).toEqual([])
    expect(started).toMatchObject({
      seq: 1,
      kind: 'watch_started',
      schemaVersion: 3,
      reference: 'A-1',
      before: null,
      after: { state: 'bookable', price: { amount: '80.00', currency: 'EUR' } },
      lastGoodCheckAt: null,
      observedAt: rows[0]?.at,
      detectedAt: rows[0]?.at,
    })
    expect(await lanes(db)).toEqual(lane)
  })

  it('a price that no check has shown for as long as makes it stale is not in the record', async ({
    db,
  }) => {
    await fareAfter(db, [
      [700, available('80.00')],
      [30, available('', { price: null })],
    ])
    const ana = await resellerWith(db, [cells()], 'ana')

    expect(await feedOf(db, ana)).toMatchObject([
      {
        kind: 'watch_started',
        after: { state: 'bookable', price: null, outbound: { price: null } },
      },
    ])
  })

  it('a belief whose instants lie ahead of the clock is not fresh', async ({ db }) => {
    await fareAfter(db, [[-3_600, available('80.00')]])
    const ana = await resellerWith(db, [cells()], 'ana')

    expect(await feedOf(db, ana)).toEqual([])
  })

  it('a pending loss does not delay the start', async ({ db }) => {
    const fare = await fareAfter(db, [
      [60, available()],
      [30, gone],
    ])
    const ana = await resellerWith(db, [cells()], 'ana')
    const [started] = await feedOf(db, ana)

    await record(db, fare, ago(0), gone)

    expect(started).toMatchObject({ kind: 'watch_started', after: { state: 'bookable' } })
    expect(await kindsOf(db, ana)).toEqual(['watch_started', 'became_unavailable'])
    expect((await feedOf(db, ana))[1]?.before).toEqual(started?.after)
  })

  it('the watch starts again each time it is resumed or its question changes', async ({ db }) => {
    await fareAfter(db, [[60, available()]])
    const ana = await resellerWith(db, [cells()], 'ana')
    const selection = { resellerId: ana, list: 'summer' }

    await pauseWatches(db, selection)
    await resumeWatches(db, selection)
    await resumeWatches(db, selection)
    expect(await kindsOf(db, ana)).toEqual(['watch_started', 'watch_started'])

    await importRows(db, ana, [cells({ flight_id: '102' })])
    expect(await kindsOf(db, ana)).toHaveLength(2)
    await importRows(db, ana, [cells()])
    expect(await kindsOf(db, ana)).toHaveLength(3)
  })

  it('a watch that is paused while its fare is first seen starts when it is resumed, and misses no change after that', async ({
    db,
  }) => {
    const ana = await resellerWith(db, [cells()], 'ana')
    const selection = { resellerId: ana, list: 'summer' }
    await pauseWatches(db, selection)
    const fare = await fareAfter(db, [[60, available('80.00')]])
    expect(await kindsOf(db, ana)).toEqual([])

    await resumeWatches(db, selection)
    await record(db, fare, ago(10), available('88.00'))

    expect(await feedOf(db, ana)).toMatchObject([
      { kind: 'watch_started', before: null, after: { price: { amount: '80.00' } } },
      { kind: 'price_changed', after: { price: { amount: '88.00' } } },
    ])
  })

  it('other settings, the same row again and a paused watch start nothing', async ({ db }) => {
    await fareAfter(db, [[60, available()]])
    const ana = await resellerWith(db, [cells()], 'ana')
    const selection = { resellerId: ana, list: 'summer' }

    await importRows(db, ana, [cells()])
    await importRows(db, ana, [cells({ price_threshold_percent: '5' })])
    await importRows(db, ana, [cells({ flight_id: '102' })])
    await pauseWatches(db, selection)
    await importRows(db, ana, [cells()])
    expect(await kindsOf(db, ana)).toEqual(['watch_started'])

    await resumeWatches(db, selection)
    expect(await kindsOf(db, ana)).toEqual(['watch_started', 'watch_started'])
  })

  it('the watches of one import take the row of their feed once', async ({ db }) => {
    const rows = manyCells(1_000)
    await resellerWith(db, rows, 'other')
    for (const { id } of await fareRows(db)) {
      if (id % 100 === 0) await record(db, id, ago(60), available())
    }
    await sql`
      insert into fare_state (tracked_fare_id, state, asked_at, last_good_check_at, outbound, pair, price, currency,
                              price_checked_at)
      select f.id, s.state, s.asked_at, s.last_good_check_at, s.outbound, s.pair, s.price, s.currency,
             s.price_checked_at
        from tracked_fare f cross join (select * from fare_state limit 1) s
       where not exists (select from fare_state t where t.tracked_fare_id = f.id)
    `.execute(db)
    await sql`update watch set started_at = now()`.execute(db)
    const ana = await newReseller(db, 'ana')
    await sql`create table taken (id bigint)`.execute(db)
    await sql`
      create function note_taken() returns trigger language plpgsql as $$
      begin insert into taken values (new.id); return new; end $$
    `.execute(db)
    await sql`
      create trigger taken after update on reseller for each row execute function note_taken()
    `.execute(db)

    await importRows(db, ana, rows)

    expect((await sql`select id from taken`.execute(db)).rows).toEqual([{ id: ana }])
    const feed = await feedOf(db, ana)
    expect(feed.map(({ seq }) => seq)).toEqual(rows.map((_, i) => i + 1))
    expect(new Set(feed.map(({ watchId }) => watchId)).size).toBe(1_000)
    expect(feed.every(({ kind }) => kind === 'watch_started')).toBe(true)
  })
})

describe('a watch of a fare without a fresh belief', () => {
  it.for([
    ['available', available(), 'bookable'],
    ['unavailable, for the second time', gone, 'not_bookable'],
  ] as const)(
    'the watch starts with the first good check, which says %s',
    async ([, answer, pair], { db }) => {
      const ana = await resellerWith(db, [cells()], 'ana')
      const [fare] = await fareRows(db)
      const fareId = fare?.id ?? 0
      expect(await kindsOf(db, ana)).toEqual([])
      expect(await lanes(db)).toEqual(['first_check'])

      await record(db, fareId, ago(60), silent)
      if (answer === gone) await record(db, fareId, ago(40), gone)
      expect(await kindsOf(db, ana)).toEqual([])
      const at = ago(10)
      const [recorded] = await record(db, fareId, at, answer)
      await record(db, fareId, ago(5), answer === gone ? silent : answer)

      const feed = await feedOf(db, ana)
      expect(feed).toMatchObject([
        { kind: 'watch_started', before: null, after: { state: pair }, observedAt: at },
      ])
      if (recorded === undefined) throw new Error('the check was not recorded')
      expect(feed[0]?.after).toEqual(publicFare(recorded.decision.state.belief))
    },
  )

  it('a stale belief starts nothing; the next good check does', async ({ db }) => {
    const fare = await fareAfter(db, [[700, available()]])
    const ana = await resellerWith(db, [cells()], 'ana')
    expect(await kindsOf(db, ana)).toEqual([])
    expect(await lanes(db)).toEqual(['first_check'])

    // An answer that contradicts the belief is no good check.
    await record(db, fare, ago(20), gone)
    expect(await kindsOf(db, ana)).toEqual([])
    await record(db, fare, ago(10), available())

    expect(await feedOf(db, ana)).toMatchObject([
      { kind: 'watch_started', after: { state: 'bookable' } },
    ])
  })

  it('a held loss delays the start until the belief is shown again', async ({ db }) => {
    const fareId = await fareAfter(db, [[60, available()]])
    await recordInMass(db, fareId, { at: ago(40), leg: gone, kind: 'became_unavailable' })
    const ana = await resellerWith(db, [cells()], 'ana')
    expect(await kindsOf(db, ana)).toEqual([])

    await record(db, fareId, ago(10), available())

    expect(await feedOf(db, ana)).toMatchObject([
      { kind: 'watch_started', after: { state: 'bookable' } },
    ])
  })

  it('the watch starts with the first sight of its fare, although it shows one leg alone', async ({
    db,
  }) => {
    const ana = await resellerWith(db, [cells({ return_flight_id: '201' })], 'ana')
    const [fare] = await fareRows(db)
    const fareId = fare?.id ?? 0
    const at = ago(60)

    // The return flight is lost, whatever the other one shows; no check has shown both yet.
    await record(db, fareId, ago(90), silent, gone)
    await record(db, fareId, at, silent, gone)
    expect(await feedOf(db, ana)).toMatchObject([
      { kind: 'watch_started', before: null, after: { state: 'not_bookable' }, observedAt: at },
    ])
    for (const seconds of [50, 29]) await record(db, fareId, ago(seconds), gone, gone)
    await record(db, fareId, ago(10), available(), available('60.00'))

    expect(await kinds(db, fareId)).toEqual(['first_seen', 'legs_changed', 'became_available'])
    expect(await kindsOf(db, ana)).toEqual(['watch_started', 'legs_changed', 'became_available'])
  })

  it('confirmed changes reach the watch before it starts, but not those of the check that starts it', async ({
    db,
  }) => {
    const fareId = await fareAfter(
      db,
      [90, 60].map((seconds) => [seconds, silent, gone] as const),
      { return_flight_id: '201' },
    )
    const ana = await resellerWith(db, [cells({ return_flight_id: '201' })], 'ana')
    expect(await kindsOf(db, ana)).toEqual([])

    // The outbound flight is lost too, and the return flight is not shown.
    for (const seconds of [50, 29]) await record(db, fareId, ago(seconds), gone, silent)
    expect(await kindsOf(db, ana)).toEqual(['legs_changed'])
    await record(db, fareId, ago(10), available(), available('60.00'))

    expect(await kinds(db, fareId)).toEqual(['first_seen', 'legs_changed', 'became_available'])
    expect(await feedOf(db, ana)).toMatchObject([
      { kind: 'legs_changed', before: { state: 'not_bookable' }, after: { state: 'not_bookable' } },
      { kind: 'watch_started', before: null, after: { state: 'bookable' } },
    ])
  })
})

it('a watch that begins while checks are recorded starts once, and misses no change after that', async ({
  db,
}) => {
  const fare = await fareAfter(db, [[60, available('100.00')]])
  const feeds: number[] = []
  const recordAll = async () => {
    for (let i = 1; i <= 60; i += 1) await record(db, fare, new Date(), available(`${100 + i}.00`))
  }
  const beginAll = async () => {
    for (let i = 1; i <= 12; i += 1) feeds.push(await resellerWith(db, [cells()], `reseller ${i}`))
  }

  await Promise.all([recordAll(), beginAll()])

  const { rows } = await sql<{ price: string }>`select price::text from fare_state`.execute(db)
  expect(await brokenFeeds(db)).toEqual([])
  for (const resellerId of feeds) {
    const [started, ...changes] = await feedOf(db, resellerId)
    expect(started?.kind).toBe('watch_started')
    let last = started?.after
    for (const { kind, before, after } of changes) {
      expect(kind).toBe('price_changed')
      expect(before).toEqual(last)
      last = after
    }
    expect(last).toMatchObject({ price: { amount: rows[0]?.price } })
  }
})

it('a record from before watch_started was added is read as it was written', async ({ db }) => {
  const ana = await resellerWith(db, [cells()], 'ana')
  const view = { pair: 'unknown' }
  await sql`alter table watch_event drop constraint watch_event_kind_check`.execute(db)
  await sql`
    with old as (
      insert into watch_event (kind, tracked_fare_id, before, after, detected_at, schema_version)
      select 'legs_changed', tracked_fare_id, ${JSON.stringify(view)}::jsonb, ${JSON.stringify(view)}::jsonb, now(), 1
        from watch
      returning id
    )
    insert into watch_change (reseller_id, seq, watch_id, reference, watch_event_id)
    select ${ana}, 1, w.id, w.reference, old.id from watch w, old
  `.execute(db)

  const [record] = await feedOf(db, ana)

  expect(record).toMatchObject({
    seq: 1,
    kind: 'legs_changed',
    schemaVersion: 1,
    before: { state: 'unknown' },
  })
  expect(record).not.toHaveProperty('observedAt')
})
