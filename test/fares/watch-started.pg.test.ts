import { describe, expect } from 'vitest'
import { publicFare } from '../../src/feeds/public-fare.ts'
import type { WatchChange } from '../../src/feeds/watch-record.ts'
import { type Db, sql } from '../../src/platform/db/database.ts'
import type { LegObservation } from '../../src/upstream/observation.ts'
import { pauseWatches, resumeWatches } from '../../src/watches/change-watches.ts'
import { brokenFeeds } from '../chaos/records.ts'
import { readFareRecords } from '../feeds/fare-records.ts'
import { it } from '../support/test-database.ts'
import { type Cells, cells, fareRows, importRows, resellerWith } from '../watches/watch-fixtures.ts'
import { available, gone, record, silent } from './fare-fixtures.ts'

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
