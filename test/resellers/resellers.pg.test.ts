import { describe, expect } from 'vitest'
import { createReseller, listResellers } from '../../src/resellers/resellers.ts'
import {
  deleteWatches,
  disableReseller,
  pauseWatches,
  resumeWatches,
} from '../../src/watches/change-watches.ts'
import { diffWatchList } from '../../src/watches/import/diff-watch-list.ts'
import { rowsOf } from '../../src/watches/rows/watch-row.ts'
import { it } from '../support/test-database.ts'
import {
  cells,
  exportText,
  importRows,
  manyCells,
  resellerWith,
  watchRows,
} from '../watches/watch-fixtures.ts'

describe('resellers', () => {
  it('resellers are listed with the size of their watch lists, and a disabled one has no active watch', async ({
    db,
  }) => {
    const one = await resellerWith(db, [...manyCells(3), cells({ list: 'winter' })], 'one')
    await pauseWatches(db, { resellerId: one, list: 'winter' })
    const two = await resellerWith(db, manyCells(2), 'two')
    await disableReseller(db, two)
    await createReseller(db, 'none')

    expect(await listResellers(db)).toMatchObject([
      { name: 'none', lists: 0, watches: 0, active: 0, disabledAt: null },
      { name: 'one', lists: 2, watches: 4, active: 3, disabledAt: null },
      { name: 'two', lists: 1, watches: 2, active: 0, disabledAt: expect.any(Date) },
    ])
  })

  it('resellers never change or see each other’s watches, even with equal lists and references', async ({
    db,
  }) => {
    const mine = await resellerWith(db, manyCells(4), 'mine')
    const other = await resellerWith(db, [...manyCells(4), cells({ list: 'theirs' })], 'other')
    const before = await watchRows(db, other)
    const text = await exportText(db, other)

    await pauseWatches(db, { resellerId: mine, list: 'summer' })
    await resumeWatches(db, { resellerId: mine, list: 'summer', references: ['R0'] })
    await importRows(db, mine, manyCells(4, { flight_id: '9', min_interval_seconds: '5' }))
    await deleteWatches(db, { resellerId: mine, list: 'summer', references: ['R1'] })
    const differing: string[] = []
    await diffWatchList(db, {
      resellerId: mine,
      source: rowsOf('rows', [...manyCells(1), cells({ list: 'theirs' })]),
      onRows: (rows) => {
        differing.push(...rows.map((row) => `${row.kind} ${row.list} ${row.reference}`))
      },
    })
    await expect(pauseWatches(db, { resellerId: mine, list: 'theirs' })).rejects.toThrow(
      'no watch list',
    )
    await deleteWatches(db, { resellerId: mine, list: 'summer' })
    await disableReseller(db, mine)

    expect(differing).toEqual([
      'changed summer R0',
      'absent summer R2',
      'absent summer R3',
      'added theirs A-1',
    ])
    expect(await watchRows(db, other)).toEqual(before)
    expect(await exportText(db, other)).toBe(text)
  })
})
