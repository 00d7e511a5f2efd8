import { describe, expect } from 'vitest'
import { importText } from '../../src/cli/work/watch-lists.ts'
import { sql } from '../../src/platform/db/database.ts'
import { listWatches } from '../../src/watches/watch-lists.ts'
import { it } from '../support/test-database.ts'
import {
  cells,
  entriesOf,
  importRows,
  manyCells,
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
  warnings: expect.anything() as object,
  invalid: 0,
  trackedFaresAdded: 0,
  trackedFaresEnded: 0,
}

describe('an import', () => {
  it('an import writes no row if nothing differs', async ({ db }) => {
    const resellerId = await resellerWith(db, manyCells(3))
    const versions = async () => {
      const { rows } = await sql`
        select array(select xmin::text || ctid::text from watch order by id) as watches,
               array(select xmin::text || ctid::text from watch_list) as lists,
               array(select xmin::text || ctid::text from tracked_fare order by id) as fares,
               (select last_value from pg_sequences where sequencename = 'tracked_fare_id_seq') as ids
      `.execute(db)
      return rows
    }
    const before = await versions()

    await importRows(db, resellerId, manyCells(3))

    expect(await versions()).toEqual(before)
  })

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
    expect(importText(outcome)).toContain(
      '2 changed, 0 unchanged (1 watch of these loses a setting that the file leaves out);',
    )
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

  it('imports of one reseller run one after another', async ({ db }) => {
    const resellerId = await resellerWith(db, [cells()])
    const rows = manyCells(2_000, { flight_id: '101' })

    const outcomes = await Promise.all([1, 2, 3].map(() => importRows(db, resellerId, rows)))

    expect(outcomes.toSorted((a, b) => b.added - a.added)).toMatchObject([
      { added: 2_000, unchanged: 0 },
      { added: 0, unchanged: 2_000 },
      { added: 0, unchanged: 2_000 },
    ])
  })

  it('an aborted import stops between batches and changes nothing', async ({ db }) => {
    const resellerId = await newReseller(db)
    const controller = new AbortController()

    const importing = importRows(db, resellerId, manyCells(10), {
      signal: controller.signal,
      onProgress: () => controller.abort(new Error('enough')),
    })

    await expect(importing).rejects.toThrow('enough')
    expect(await entriesOf(db, resellerId)).toEqual([])
  })
})
