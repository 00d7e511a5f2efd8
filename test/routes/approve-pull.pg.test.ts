import { describe, expect } from 'vitest'
import { systemClock } from '../../src/platform/base/clock.ts'
import { type Db, sql } from '../../src/platform/db/database.ts'
import { approvePull } from '../../src/routes/review/decide-run.ts'
import { it } from '../support/test-database.ts'
import { approve, depsOf, hoursPass, review, runOf } from './review-fixtures.ts'
import { availability, changes, manyRoutes, routes, sync } from './sync-fixtures.ts'

const ALL = manyRoutes(100)
const LISTED = { list: 'with-availability' } as const
const NEW = [...ALL.slice(0, 60), ...routes('NEW-ONE', 'NEW-TWO')]
const NEW_AVAILABLE = [...ALL.slice(0, 50), ...routes('NEW-ONE')]

const approveBoth = (db: Db, runId: number) =>
  approvePull({ ...depsOf(db), clock: systemClock }, runId, new AbortController().signal)

async function heldPull(db: Db) {
  await sync(db, ALL)
  await sync(db, ALL, LISTED)
  await hoursPass(db, 3)
  const ofRoutes = await sync(db, NEW)
  const ofAvailability = await sync(db, NEW_AVAILABLE, LISTED)
  return { ofRoutes, ofAvailability }
}

describe('both held lists of one pull', () => {
  it('are approved together, the routes first, and every availability is known', async ({ db }) => {
    const { ofRoutes, ofAvailability } = await heldPull(db)
    expect((await review(db, ofRoutes.runId)).pairedWith).toBe(ofAvailability.runId)
    expect((await review(db, ofAvailability.runId)).pairedWith).toBe(ofRoutes.runId)

    const { outcome, paired } = await approveBoth(db, ofAvailability.runId)

    expect(outcome).toMatchObject({ runId: ofAvailability.runId, status: 'approved' })
    expect(paired).toMatchObject({ runId: ofRoutes.runId, status: 'approved' })
    const states = await availability(db)
    expect(states).toMatchObject({ 'NEW-ONE': true, 'NEW-TWO': false, 'HUB-D55': false })
    expect(Object.values(states)).not.toContain(null)
  })

  it('stay held both when the second cannot be applied, and the same approval takes both later', async ({
    db,
  }) => {
    const { ofRoutes, ofAvailability } = await heldPull(db)
    const livesBefore = await availability(db)
    const runs = [ofRoutes.runId, ofAvailability.runId]
    const table = sql`alter table route_availability_version`
    await sql`${table} add constraint refused check (not available) not valid`.execute(db)

    await expect(approveBoth(db, ofRoutes.runId)).rejects.toThrow('refused')

    expect(await availability(db)).toEqual(livesBefore)
    expect(await changes(db)).toEqual([])
    for (const runId of runs) expect(await runOf(db, runId)).toMatchObject({ status: 'held' })
    expect((await review(db, ofRoutes.runId)).pairedWith).toBe(ofAvailability.runId)

    await sql`${table} drop constraint refused`.execute(db)
    await approveBoth(db, ofRoutes.runId)
    for (const runId of runs) expect(await runOf(db, runId)).toMatchObject({ status: 'approved' })
  })

  it('leave the availability of new routes unknown when the routes alone are approved', async ({
    db,
  }) => {
    const { ofRoutes, ofAvailability } = await heldPull(db)

    await approve(db, ofRoutes.runId)

    expect(await availability(db)).toMatchObject({ 'NEW-ONE': null, 'NEW-TWO': null })
    expect(await runOf(db, ofAvailability.runId)).toMatchObject({ status: 'held' })
  })

  it('are no pair when one of them is empty, or arrived hours later', async ({ db }) => {
    await sync(db, ALL)
    await sync(db, ALL, LISTED)
    await hoursPass(db, 3)
    const { runId } = await sync(db, NEW)
    await sync(db, [], LISTED)

    expect((await review(db, runId)).pairedWith).toBeNull()
    await hoursPass(db, 2)
    await sync(db, NEW_AVAILABLE, LISTED)
    expect((await review(db, runId)).pairedWith).toBeNull()
  })
})
