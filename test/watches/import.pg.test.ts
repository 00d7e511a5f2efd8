import { describe, expect } from 'vitest'
import { type Db, sql } from '../../src/platform/db/database.ts'
import { pauseWatches } from '../../src/watches/change-watches.ts'
import { type ImportOutcome, planWatchImport } from '../../src/watches/import/import-watch-list.ts'
import { rowsOf } from '../../src/watches/rows/watch-row.ts'
import { listWatches, type Watch } from '../../src/watches/watch-lists.ts'
import { available, gone, minute, record } from '../fares/fare-fixtures.ts'
import { it } from '../support/test-database.ts'
import {
  type Cells,
  cells,
  entriesOf,
  fareRows,
  importRows,
  newReseller,
  resellerWith,
  watchRows,
} from './watch-fixtures.ts'

const NOTHING = {
  added: 0,
  changed: 0,
  unchanged: 0,
  ended: 0,
  cleared: 0,
  invalid: expect.objectContaining({ count: 0 }) as object,
  warnings: expect.anything() as object,
  trackedFaresAdded: 0,
  trackedFaresEnded: 0,
}

describe('an import', () => {
  it('a watch whose question changes begins again without a last notified price', async ({
    db,
  }) => {
    const resellerId = await resellerWith(db, [cells({ flight_id: '101' })])
    await sql`update watch set last_notified_amount = 100, last_notified_currency = 'EUR'`.execute(
      db,
    )
    const [before] = await listWatches(db, resellerId, { limit: 1 })

    const outcome = await importRows(db, resellerId, [cells({ flight_id: '102' })])

    const [after] = await listWatches(db, resellerId, { limit: 1 })
    expect(outcome).toEqual({ ...NOTHING, changed: 1, trackedFaresAdded: 1, trackedFaresEnded: 1 })
    expect(after?.id).toBe(before?.id)
    expect(after?.trackedFareId).not.toBe(before?.trackedFareId)
    expect(after?.beganAt.getTime()).toBeGreaterThan(before?.beganAt.getTime() ?? Infinity)
    expect(await watchRows(db, resellerId)).toMatchObject([
      { row: { last_notified_amount: null, last_notified_currency: null } },
    ])
  })

  it('a setting that a row leaves out is cleared, and the outcome counts its watch', async ({
    db,
  }) => {
    const settings = { departs_on: '2099-01-01', min_interval_seconds: '600' }
    const rows = [cells({ reference: 'A', ...settings }), cells({ reference: 'B', ...settings })]
    const resellerId = await resellerWith(db, rows)

    const outcome = await importRows(db, resellerId, [
      cells({ reference: 'A', departs_on: '2099-01-01' }),
      cells({ reference: 'B', ...settings, min_interval_seconds: '900' }),
    ])

    expect(outcome).toEqual({ ...NOTHING, changed: 2, cleared: 1 })
    const entries = await entriesOf(db, resellerId)
    expect(entries.map(({ minIntervalSeconds }) => minIntervalSeconds)).toEqual([null, 900])
  })

  it('a watch whose settings change does not begin again', async ({ db }) => {
    const resellerId = await resellerWith(db, [cells()])
    await sql`update watch set last_notified_amount = 100, last_notified_currency = 'EUR'`.execute(
      db,
    )
    const before = await watchRows(db, resellerId)
    const settings = {
      price_threshold_amount: '5.00',
      price_threshold_percent: '2.5',
      departs_on: '2030-01-01',
      min_interval_seconds: '600',
      priority: 'urgent',
    }

    const outcome = await importRows(db, resellerId, [cells(settings)])

    expect(outcome).toEqual({ ...NOTHING, changed: 1 })
    expect(await watchRows(db, resellerId)).toEqual(
      before.map(({ row }) => ({
        row: {
          ...row,
          price_threshold_amount: 5,
          price_threshold_percent: 2.5,
          departs_on: '2030-01-01',
          min_interval_seconds: 600,
          priority: 'urgent',
        },
      })),
    )
  })
})

/** "1 flight_id: is no number, …", one for each warning. */
function linesOf({ warnings }: Pick<ImportOutcome, 'warnings'>): string[] {
  return warnings.rows.flatMap(({ line, errors }) =>
    errors.map(({ column, message }) => `${line} ${column}: ${message}`),
  )
}

const NO_NUMBER = 'is no number, as the flight ids of the upstream are'

const NO_PLACE = 'is the code of no airport, and of no place in the lists'
const NOT_SHOWN = 'was not available when the upstream was asked, and no answer has shown it'

/** Three checked fares: 101 was shown, 102 was not, and 103 was shown and has departed. */
const ROWS = ['101', '102', '103'].map((id) => cells({ reference: id, flight_id: id }))

async function checkThem(db: Db): Promise<void> {
  const { rows } = await sql<{ id: number; flight: string }>`
    select id, flight_id as flight from tracked_fare order by flight_id
  `.execute(db)
  for (const { id, flight } of rows) {
    for (const n of [0, 1]) await record(db, id, minute(n), flight === '102' ? gone : available())
  }
  await sql`
    update fare_state s set departs_at = '2026-01-31T12:00:00Z'
      from tracked_fare f where f.id = s.tracked_fare_id and f.flight_id = '103'
  `.execute(db)
}

const again = (row: Cells) => ({ ...row, reference: `again ${row.reference}` })

describe('the warnings of an import', () => {
  it('name ids that are no number, and such rows are saved', async ({ db }) => {
    const resellerId = await newReseller(db)
    const rows = [
      cells({ reference: 'A', flight_id: 'LH-7', return_flight_id: '12 3' }),
      cells({ reference: 'B', flight_id: '0012' }),
    ]

    const outcome = await importRows(db, resellerId, rows)

    expect(outcome.added).toBe(2)
    expect(linesOf(outcome)).toEqual([
      `1 flight_id: ${NO_NUMBER}`,
      `1 return_flight_id: ${NO_NUMBER}`,
    ])
  })

  it('name codes of routes that no airport has, unless a list has had a place of the code', async ({
    db,
  }) => {
    await sql`
      insert into place_version (place_id, iata, city, country, valid_from) values ('p', 'QQQ', 'Q', 'Q', now())
    `.execute(db)
    const resellerId = await newReseller(db)
    const rows = ['OSL', 'QQQ', 'PMI'].map((destination) =>
      cells({
        reference: destination,
        flight_id: '',
        departure: 'XQX',
        destination,
        non_residents_adults: '',
      }),
    )

    expect(linesOf(await importRows(db, resellerId, rows.slice(1)))).toEqual([
      `1 departure: ${NO_PLACE}`,
      `2 departure: ${NO_PLACE}`,
    ])
    expect(linesOf(await importRows(db, resellerId, rows))).toEqual([`1 departure: ${NO_PLACE}`])
  })

  it('name flights that have departed or that no answer has shown, for watches that begin', async ({
    db,
  }) => {
    const resellerId = await resellerWith(db, ROWS)
    await checkThem(db)
    const expected = [`2 flight_id: ${NOT_SHOWN}`, '3 flight_id: departed at 2026-01-31T12:00:00Z']
    const source = rowsOf('rows', ROWS.map(again))

    expect(linesOf(await planWatchImport(db, { resellerId, source }))).toEqual(expected)
    expect(linesOf(await importRows(db, resellerId, ROWS))).toEqual([])
    expect(linesOf(await importRows(db, resellerId, ROWS.map(again)))).toEqual(expected)
  })

  it('reveal nothing of what others watch, until the reseller watches it too', async ({ db }) => {
    await resellerWith(db, ROWS, 'other')
    await checkThem(db)
    const resellerId = await newReseller(db)

    const plan = await planWatchImport(db, { resellerId, source: rowsOf('rows', ROWS) })

    expect(linesOf(plan)).toEqual([])
    expect(linesOf(await importRows(db, resellerId, ROWS))).toHaveLength(2)
  })
})

async function watchesOf(db: Db, resellerId: number): Promise<Watch[]> {
  return listWatches(db, resellerId, { limit: 100 })
}

const references = (watches: readonly Watch[]) => watches.map((watch) => watch.entry.reference)

const paused = (watches: readonly Watch[]) =>
  references(watches.filter((watch) => watch.pausedAt !== null))

describe('a pause', () => {
  it('a paused watch stays paused through an import that changes it, and its fare is not checked', async ({
    db,
  }) => {
    const resellerId = await resellerWith(db, [cells()])
    await pauseWatches(db, { resellerId, list: 'summer' })

    const outcome = await importRows(db, resellerId, [cells({ flight_id: '102' })])

    expect(outcome).toMatchObject({ changed: 1, trackedFaresAdded: 0, trackedFaresEnded: 0 })
    expect(paused(await watchesOf(db, resellerId))).toEqual(['A-1'])
    expect(await fareRows(db)).toMatchObject([
      { flightId: '101', ended: true, lane: null },
      { flightId: '102', ended: true, lane: null },
    ])
  })
})

describe('a fare has of its watches', () => {
  it('the smallest interval and the latest departure of those that are active', async ({ db }) => {
    const resellerId = await resellerWith(db, [
      cells({ reference: 'A', departs_on: '2030-01-01', min_interval_seconds: '900' }),
      cells({ reference: 'B', departs_on: '2030-01-03', min_interval_seconds: '300' }),
      cells({ reference: 'C', departs_on: '2030-01-02', min_interval_seconds: '1500' }),
    ])
    const all = await fareRows(db)

    await pauseWatches(db, { resellerId, list: 'summer', references: ['B'] })
    const withoutB = await fareRows(db)
    await importRows(db, resellerId, [cells({ reference: 'A', min_interval_seconds: '1200' })])
    const withoutDate = await fareRows(db)
    await resellerWith(db, [cells({ reference: 'any' })], 'other')

    expect(all).toMatchObject([{ departsOn: '2030-01-03', minIntervalSeconds: 300 }])
    expect(withoutB).toMatchObject([{ departsOn: '2030-01-02', minIntervalSeconds: 900 }])
    expect(withoutDate).toMatchObject([{ departsOn: null, minIntervalSeconds: 1200 }])
    // A watch without an interval asks for the shortest one, so another watch's long interval does not apply.
    expect(await fareRows(db)).toMatchObject([{ departsOn: null, minIntervalSeconds: null }])
  })

  it('for each reseller the sum of the priorities of those that are active', async ({ db }) => {
    const resellerId = await resellerWith(db, [
      cells({ reference: 'A', priority: 'low' }),
      cells({ reference: 'B', priority: 'high' }),
      cells({ reference: 'C' }),
    ])
    await resellerWith(db, [cells({ priority: 'urgent' })], 'other')
    const weights = async () => {
      const { rows } = await sql<{ weight: number }>`
        select weight from turn order by reseller_id
      `.execute(db)
      return rows.map(({ weight }) => weight)
    }
    const all = await weights()

    await importRows(db, resellerId, [cells({ reference: 'C', priority: 'urgent' })])
    const raised = await weights()
    await pauseWatches(db, { resellerId, list: 'summer', references: ['B'] })

    expect(all).toEqual([8, 20])
    expect(raised).toEqual([26, 20])
    expect(await weights()).toEqual([21, 20])
  })
})
