import { describe, expect } from 'vitest'
import { it } from '../support/test-database.ts'
import { approve, hoursPass } from './review-fixtures.ts'
import {
  arrivedAt,
  availability,
  changes,
  fetchedAt,
  intervals,
  manyRoutes,
  routes,
  routesAsOf,
  sync,
} from './sync-fixtures.ts'

const ALL = manyRoutes(200)
const MOST = ALL.slice(0, 140)
const LISTED = { list: 'with-availability' } as const
const HOUR_MS = 3_600_000

describe('a list that is approved hours after it arrived', () => {
  it('counts from the approval on, and changes no answer for an instant before', async ({ db }) => {
    const first = await sync(db, ALL)
    const held = await sync(db, [...MOST, ...routes('NEW-ONE')])
    await hoursPass(db, 5)
    const arrived = await arrivedAt(db, held.runId)
    const night = new Date(arrived.getTime() + HOUR_MS)
    const before = await routesAsOf(db, night)

    await approve(db, held.runId)

    expect(await routesAsOf(db, night)).toEqual(before)
    const at = await fetchedAt(db, held.runId)
    expect(at.getTime()).toBeGreaterThanOrEqual(arrived.getTime() + 5 * HOUR_MS)
    expect(await intervals(db, 'NEW-ONE')).toEqual([{ from: at, to: null }])
    expect((await changes(db))[0]).toMatchObject({
      kind: 'route_added',
      lastSeenAt: await arrivedAt(db, first.runId),
      firstMissedAt: arrived,
      runId: held.runId,
    })
  })

  it('is evidence of the hour in which it arrived, whatever was accepted since', async ({ db }) => {
    await sync(db, ALL)
    const held = await sync(db, [...MOST, ...routes('PY-XX')])
    await hoursPass(db, 5)
    await sync(db, ALL, LISTED)
    await approve(db, held.runId)

    await sync(db, MOST)
    const last = await sync(db, MOST)

    const removed = (await changes(db)).find(({ kind, runId }) => {
      return kind === 'route_removed' && runId === last.runId
    })
    expect(removed?.lastSeenAt).toEqual(await arrivedAt(db, held.runId))
  })

  it('says nothing of the availability of routes that began after it had arrived', async ({
    db,
  }) => {
    await sync(db, ALL)
    await sync(db, ALL, LISTED)
    const held = await sync(db, MOST, LISTED)
    expect(held.status).toBe('held')
    await sync(db, [...ALL, ...routes('NEW-ONE')])

    await approve(db, held.runId)

    expect(await availability(db)).toMatchObject({ 'NEW-ONE': null })
    // The same list, fetched anew, has spoken of it.
    await sync(db, MOST, LISTED)
    expect(await availability(db)).toMatchObject({ 'NEW-ONE': false })
  })
})
