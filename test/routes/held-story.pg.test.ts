import { describe, expect } from 'vitest'
import { createMetrics } from '../../src/platform/metrics/metrics.ts'
import { reportSyncFinished } from '../../src/routes/sync.ts'
import { silentLog } from '../support/silent-log.ts'
import { it } from '../support/test-database.ts'
import { approve, reject, runOf } from './held-fixtures.ts'
import { fetchedAt, intervals, livePairs, manyRoutes, routes, sync } from './sync-fixtures.ts'

/** Enough routes for shares without rounding errors; all but one are of one country. */
const FIRST = [...manyRoutes(118), ...routes('OLD-ONE', 'OLD-TWO')]
const SECOND = [...manyRoutes(118), ...routes('NEW-ONE', 'NEW-TWO', 'NEW-SIX')]
const HALF = SECOND.slice(0, 60)

async function pairsOf(list: typeof FIRST): Promise<string[]> {
  return list.map((r) => `${r.departure.id}-${r.destination.id}`).sort()
}

describe('a list that lacks half of the routes', () => {
  it('the list is held, rejected, held again without a new alert, approved, and repaired by the next list', async ({
    db,
  }) => {
    const metrics = createMetrics()
    const levels: string[] = []
    const log = Object.assign(Object.create(silentLog), {
      info: () => void levels.push('info'),
      warn: () => void levels.push('warn'),
    })
    const run = async (list: typeof FIRST) => {
      const outcome = await sync(db, list)
      reportSyncFinished({ metrics, log }, outcome)
      return outcome
    }
    await run(FIRST)
    await run(SECOND)

    const held = await run(HALF)
    expect(held).toMatchObject({ status: 'held', agreeingLists: 1 })
    await reject(db, held.runId)
    expect(await runOf(db, held.runId)).toMatchObject({ status: 'dropped', resolution: 'rejected' })

    const again = await run(HALF)
    expect(again).toMatchObject({ status: 'held', agreeingLists: 2 })
    expect(levels).toEqual(['info', 'info', 'warn', 'info'])
    const { values } = await metrics.syncReviews.get()
    expect(values.find((v) => v.labels.list === 'routes')?.value).toBe(1)

    const approved = await approve(db, again.runId)
    expect(approved).toMatchObject({ status: 'approved', added: 0, removed: 63, live: 60 })
    expect(await livePairs(db)).toEqual(await pairsOf(HALF))
    const removedAt = await fetchedAt(db, again.runId)

    const back = await run(SECOND)
    expect(back).toMatchObject({ status: 'applied', added: 61, live: 121 })
    expect(await livePairs(db)).toEqual(await pairsOf(SECOND))
    expect(await intervals(db, 'NEW-ONE')).toEqual([
      { from: expect.any(Date), to: removedAt },
      { from: await fetchedAt(db, back.runId), to: null },
    ])
    expect(await intervals(db, 'OLD-ONE')).toMatchObject([{ to: removedAt }])

    await run(SECOND.slice(0, 120))
    const after = await run(SECOND.slice(0, 120))
    expect(after).toMatchObject({ status: 'applied', removed: 1, live: 120 })
  })
})
