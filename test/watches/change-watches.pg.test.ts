import { describe, expect } from 'vitest'
import { type Db, sql } from '../../src/platform/db/database.ts'
import { deleteWatches, pauseWatches, resumeWatches } from '../../src/watches/change-watches.ts'
import { listWatches, type Watch } from '../../src/watches/watch-lists.ts'
import { it } from '../support/test-database.ts'
import { cells, fareRows, importRows, manyCells, resellerWith } from './watch-fixtures.ts'

async function watchesOf(db: Db, resellerId: number): Promise<Watch[]> {
  return listWatches(db, resellerId, { limit: 100 })
}

const references = (watches: readonly Watch[]) => watches.map((watch) => watch.entry.reference)
const paused = (watches: readonly Watch[]) =>
  references(watches.filter((watch) => watch.pausedAt !== null))

describe('pauseWatches, resumeWatches and deleteWatches', () => {
  it('paused watches begin again when they are resumed, and others are left alone', async ({
    db,
  }) => {
    const resellerId = await resellerWith(db, manyCells(2))
    await sql`update watch set last_notified_amount = 100, last_notified_currency = 'EUR'`.execute(
      db,
    )
    await pauseWatches(db, { resellerId, list: 'summer', references: ['R1'] })
    const before = await watchesOf(db, resellerId)

    const outcome = await resumeWatches(db, { resellerId, list: 'summer' })

    const after = await watchesOf(db, resellerId)
    expect(outcome).toMatchObject({ watches: 1, trackedFaresAdded: 1 })
    expect(after[0]).toEqual(before[0])
    expect(after[1]?.beganAt.getTime()).toBeGreaterThan(before[1]?.beganAt.getTime() ?? Infinity)
    const { rows } = await sql`select distinct last_notified_amount as notified from watch`.execute(
      db,
    )
    expect(rows).toEqual([{ notified: '100' }])
  })

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

  it.for([
    ['pause', pauseWatches],
    ['resume', resumeWatches],
    ['delete', deleteWatches],
  ] as const)('%s changes no watch if a reference is unknown', async ([, change], { db }) => {
    const resellerId = await resellerWith(db, manyCells(2))
    const before = await watchesOf(db, resellerId)

    const changing = change(db, { resellerId, list: 'summer', references: ['R0', 'R9', 'R8'] })

    await expect(changing).rejects.toMatchObject({
      code: 'not_found',
      references: ['R9', 'R8'],
    })
    expect(await watchesOf(db, resellerId)).toEqual(before)
  })
})
