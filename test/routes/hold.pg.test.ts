import { describe, expect } from 'vitest'
import { listSyncRuns } from '../../src/routes/runs/sync-run-queries.ts'
import { it } from '../support/test-database.ts'
import { hoursPass } from './review-fixtures.ts'
import {
  changes,
  fetchedAt,
  livePairs,
  manyRoutes,
  routes,
  routesAsOf,
  sync,
} from './sync-fixtures.ts'

describe('suspicious lists', () => {
  it('a suspicious list is held whole: neither its absences nor its additions are applied', async ({
    db,
  }) => {
    const all = manyRoutes(40)
    await sync(db, all)
    const before = await livePairs(db)

    const outcome = await sync(db, [...all.slice(0, 20), ...routes('NEW-ONE')])

    expect(outcome).toMatchObject({
      status: 'held',
      reason: { code: 'mass_absence' },
      fetched: 21,
      added: 0,
      live: 40,
      pendingAbsences: 0,
    })
    expect(await livePairs(db)).toEqual(before)
    expect(await changes(db)).toEqual([])
  })

  it('a repeated suspicious list stays held, and never counts as an absence', async ({ db }) => {
    const all = manyRoutes(40)
    await sync(db, all)
    for (let i = 0; i < 3; i += 1) {
      expect(await sync(db, all.slice(0, 20))).toMatchObject({ status: 'held' })
    }

    const normal = await sync(db, all.slice(0, 39))

    expect(normal).toMatchObject({ status: 'applied', removed: 0, pendingAbsences: 1 })
  })

  it('a held list is dropped by the next normal list', async ({ db }) => {
    const all = manyRoutes(40)
    await sync(db, all)
    const held = await sync(db, all.slice(0, 20))

    await sync(db, all)

    const runs = await listSyncRuns(db, { limit: 10 })
    expect(runs.find((run) => run.runId === held.runId)).toMatchObject({
      status: 'dropped',
      reason: { code: 'mass_absence' },
    })
  })

  it('an empty list is held, even as a baseline', async ({ db }) => {
    expect(await sync(db, [])).toMatchObject({
      status: 'held',
      baseline: false,
      reason: { code: 'empty' },
    })

    const first = await sync(db, routes('PMI-MAD'))
    expect(first).toMatchObject({ status: 'applied', baseline: true })

    expect(await sync(db, [])).toMatchObject({ status: 'held', baseline: false })
    expect(await routesAsOf(db, await fetchedAt(db, first.runId))).toEqual(['PMI-MAD'])
  })

  it('a list is held when it would confirm too many removals within a day', async ({ db }) => {
    const all = manyRoutes(100)
    await sync(db, all)
    await sync(db, all.slice(0, 86))
    await hoursPass(db, 20)
    expect(await sync(db, all.slice(0, 86))).toMatchObject({ removed: 14 })
    await hoursPass(db, 5)
    await sync(db, all.slice(0, 74))

    const leak = await sync(db, all.slice(0, 74))

    expect(leak).toMatchObject({ status: 'held', reason: { code: 'mass_removal' }, live: 86 })
  })

  it('a list is not held for routes that were removed and return', async ({ db }) => {
    const all = manyRoutes(100)
    await sync(db, all)
    await sync(db, all.slice(0, 85))
    expect(await sync(db, all.slice(0, 85))).toMatchObject({ removed: 15 })
    await sync(db, all)
    await sync(db, all.slice(15))

    expect(await sync(db, all.slice(15))).toMatchObject({ status: 'applied', removed: 15 })
  })
})
