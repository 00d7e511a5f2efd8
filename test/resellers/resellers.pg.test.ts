import { describe, expect } from 'vitest'
import { markForDeletion } from '../../src/app/delete-reseller.ts'
import { sql } from '../../src/platform/db/database.ts'
import { createReseller, listResellers, requireReseller } from '../../src/resellers/resellers.ts'
import {
  deleteWatches,
  disableReseller,
  enableReseller,
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

  it('a reseller that is enabled again has the watches that it had, and they begin again', async ({
    db,
  }) => {
    const id = await resellerWith(db, manyCells(3), 'one')
    await pauseWatches(db, { resellerId: id, list: 'summer', references: ['R0'] })
    await sql`update watch set began_at = '2020-01-01'`.execute(db)
    const begun = async () =>
      (
        await sql<{ n: number }>`
          select count(*) as n from watch where began_at > '2020-01-01' and started_at is null
        `.execute(db)
      ).rows[0]?.n

    expect(await disableReseller(db, id)).toMatchObject({ trackedFaresEnded: 2 })
    expect(await enableReseller(db, id)).toMatchObject({ trackedFaresAdded: 2 })
    expect(await listResellers(db)).toMatchObject([{ watches: 3, active: 2, disabledAt: null }])
    expect(await begun()).toBe(2)
    expect(await enableReseller(db, id)).toMatchObject({ trackedFaresAdded: 0 })
    await sql`update watch set began_at = '2020-01-01'`.execute(db)
    await enableReseller(db, id)
    expect(await begun()).toBe(0)

    await markForDeletion(db, id)
    await enableReseller(db, id)
    expect((await requireReseller(db, 'one')).disabledAt).not.toBeNull()
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
