import { describe, expect } from 'vitest'
import { createReseller } from '../../src/resellers/resellers.ts'
import { deleteWatches, disableReseller, pauseWatches } from '../../src/watches/change-watches.ts'
import { countHints } from '../support/hints.ts'
import { it } from '../support/test-database.ts'
import { until } from '../support/until.ts'
import {
  type Cells,
  cells,
  fareRows,
  importRows,
  manyCells,
  resellerWith,
} from './watch-fixtures.ts'

describe('syncTrackedFares', () => {
  it('a new watch notifies the workers that fares may be due', async ({ db, databaseUrl }) => {
    const hints = await countHints(databaseUrl, 'due')

    await resellerWith(db, [cells({ reference: 'A', flight_id: '1' })])

    await until('the hint', () => hints() === 1)
  })

  it('questions that differ in a flight, a residence or one passenger have a tracked fare each', async ({
    db,
  }) => {
    const others: Cells[] = [
      { flight_id: '102' },
      { return_flight_id: '102' },
      { residents_adults: '1', non_residents_adults: '0' },
      { residents_children: '1' },
      { non_residents_infants: '1' },
      { flight_id: '１０１' },
    ]

    await resellerWith(db, [
      cells(),
      ...others.map((other, i) => cells({ reference: `B${i}`, ...other })),
    ])

    expect(await fareRows(db)).toHaveLength(1 + others.length)
  })

  it('a fare is unscheduled with its last active watch, not with an earlier one', async ({
    db,
  }) => {
    const one = await resellerWith(db, [cells()], 'one')
    const two = await resellerWith(db, [cells(), cells({ reference: 'B' })], 'two')

    await pauseWatches(db, { resellerId: one, list: 'summer' })
    await deleteWatches(db, { resellerId: two, list: 'summer', references: ['A-1'] })
    const before = await fareRows(db)
    const outcome = await pauseWatches(db, { resellerId: two, list: 'summer' })

    expect(before).toMatchObject([{ watchers: 1, ended: false, lane: 'first_check' }])
    expect(outcome).toEqual({ watches: 1, trackedFaresAdded: 0, trackedFaresEnded: 1 })
    expect(await fareRows(db)).toMatchObject([
      { watchers: 0, ended: true, active: false, lane: null, vdues: [] },
    ])
  })

  it('a fare ends when its only reseller is disabled, and a fare of another reseller does not', async ({
    db,
  }) => {
    const one = await resellerWith(
      db,
      [cells(), cells({ reference: 'B', flight_id: '102' })],
      'one',
    )
    await resellerWith(db, [cells()], 'two')

    const outcome = await disableReseller(db, one)
    const again = await disableReseller(db, one)

    expect(outcome).toEqual({ trackedFaresAdded: 0, trackedFaresEnded: 1 })
    expect(again).toEqual({ trackedFaresAdded: 0, trackedFaresEnded: 0 })
    expect(await fareRows(db)).toMatchObject([
      { flightId: '101', watchers: 1, lane: 'first_check' },
      { flightId: '102', watchers: 0, ended: true, lane: null },
    ])
  })

  it('watchers are counted correctly while resellers import, pause and delete the same questions', async ({
    db,
  }) => {
    const ids = await Promise.all(
      ['a', 'b', 'c', 'd'].map(async (name) => (await createReseller(db, name)).id),
    )
    const rows = manyCells(200)
    const mixed = ids.map((_, i) => (i % 2 === 0 ? rows : rows.toReversed()))

    await Promise.all(ids.map((id, i) => importRows(db, id, mixed[i] ?? [])))
    const all = await fareRows(db)
    await Promise.all([
      pauseWatches(db, { resellerId: ids[0] ?? 0, list: 'summer' }),
      deleteWatches(db, { resellerId: ids[1] ?? 0, list: 'summer' }),
      disableReseller(db, ids[2] ?? 0),
      importRows(db, ids[3] ?? 0, manyCells(100, { flight_id: 'other' })),
    ])

    expect(all).toHaveLength(200)
    expect(all.every((fare) => fare.watchers === 4)).toBe(true)
    const left = await fareRows(db)
    expect(left.filter((fare) => fare.watchers === 1 && fare.lane !== null)).toHaveLength(100)
    expect(left.filter((fare) => fare.watchers === 0 && fare.lane === null)).toHaveLength(100)
    expect(left.filter((fare) => fare.watchers === 100)).toMatchObject([{ flightId: 'other' }])
  })
})
