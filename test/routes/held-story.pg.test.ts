import { describe, expect } from 'vitest'
import { reviewText } from '../../src/cli/text/sync-report-text.ts'
import { secondText } from '../../src/cli/text/text-format.ts'
import { createMetrics } from '../../src/platform/metrics/metrics.ts'
import { reportSyncFinished } from '../../src/routes/sync.ts'
import { asSent } from '../support/as-sent.ts'
import { silentLog } from '../support/silent-log.ts'
import { it } from '../support/test-database.ts'
import { approve, hoursPass, reject, review, runOf } from './held-fixtures.ts'
import {
  fetchedAt,
  intervals,
  livePairs,
  manyRoutes,
  route,
  routes,
  sync,
} from './sync-fixtures.ts'

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

  it('an ordinary removal after the release of the list is not suspicious', async ({ db }) => {
    await sync(db, FIRST)
    const most = FIRST.slice(0, 80)
    await sync(db, most)
    await sync(db, most)
    await hoursPass(db, 25)
    expect(await sync(db, most)).toMatchObject({ status: 'applied', removed: 40 })
    await sync(db, most.slice(1))

    expect(await sync(db, most.slice(1))).toMatchObject({ status: 'applied', removed: 1, live: 79 })
  })

  it('the list that repairs it is applied, even if it adds more routes than were left', async ({
    db,
  }) => {
    const all = manyRoutes(2_003)
    await sync(db, all)
    const held = await sync(db, all.slice(0, 1_001))
    await approve(db, held.runId)

    const back = await sync(db, all)

    expect(back).toMatchObject({ status: 'applied', added: 1_002, live: 2_003 })
  })

  it('the review explains the list in a few lines', async ({ db }) => {
    await sync(db, FIRST)
    const edited = {
      ...route('HUB-D0'),
      destination: { ...route('HUB-D0').destination, city: 'Elsewhere' },
    }
    const held = await sync(db, [edited, ...HALF.slice(1), ...routes('NEU-DA')])

    const text = reviewText(asSent(await review(db, held.runId)))

    const at = `${secondText(await fetchedAt(db, held.runId))} UTC`
    expect(text.split('\n')).toEqual([
      `run ${held.runId} of routes is held since ${at}: 60 of 120 routes are missing at once (50.0 %, limit 15.0 %)`,
      '  list        61 routes in 0.0 MB; 120 are live now',
      '  missing     60 of 120 (50.0 %): HUB City HUB → D62 City D62, HUB City HUB → D77 City D77, ' +
        'HUB City HUB → D87 City D87, HUB City HUB → D88 City D88, HUB City HUB → D92 City D92, …',
      '  by country  Spain 60 of 120',
      '  lost places 61 places: OLD City OLD, D100 City D100, D101 City D101, D102 City D102, D103 City D103, …',
      '  new         1: NEU City NEU → DA City DA',
      '  places      1 changed: #D0 D0 City D0 Spain is now D0 Elsewhere Spain',
      `approve it to add 1, remove 60, change 1 place (61 live after) from now on, without a second list:  bin/farewatch runs approve ${held.runId}`,
      `reject it to drop it and change nothing:  bin/farewatch runs reject ${held.runId}`,
    ])
  })
})
