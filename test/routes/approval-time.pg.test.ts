import { describe, expect } from 'vitest'
import { it } from '../support/test-database.ts'
import { approve, hoursPass } from './held-fixtures.ts'
import {
  arrivedAt,
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
const HOUR_MS = 3_600_000

describe('the approval of a list hours after it arrived', () => {
  it('an approved list is valid from the approval on, and no earlier instant changes', async ({
    db,
  }) => {
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
})
