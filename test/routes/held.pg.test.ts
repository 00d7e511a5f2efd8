import { describe, expect } from 'vitest'
import { reviewText } from '../../src/cli/text/sync-report-text.ts'
import { secondText } from '../../src/cli/text/text-format.ts'
import { createScrub } from '../../src/platform/base/secrets.ts'
import { sql } from '../../src/platform/db/database.ts'
import { createMetrics } from '../../src/platform/metrics/metrics.ts'
import { pruneSnapshots } from '../../src/routes/snapshots.ts'
import { reportSyncFinished } from '../../src/routes/sync.ts'
import { asSent } from '../support/as-sent.ts'
import { collectLog } from '../support/collected-log.ts'
import { it } from '../support/test-database.ts'
import { approve, hoursPass, keptLists, reject, review, runOf } from './held-fixtures.ts'
import { changes, manyRoutes, routes, sync } from './sync-fixtures.ts'

const ALL = manyRoutes(200)
const MOST = ALL.slice(0, 140)
const OTHER = ALL.slice(60)

describe('the held list', () => {
  it('each list is compared with the first one, so agreeing lists cannot drift', async ({ db }) => {
    await sync(db, ALL)
    for (const length of [140, 139]) await sync(db, ALL.slice(0, length))

    // It differs from the second list by one route, and from the first by two.
    expect(await sync(db, ALL.slice(0, 138))).toMatchObject({ agreeingLists: 1 })
  })

  it('a list that agrees raises no new alert, also after a rejection', async ({ db }) => {
    const metrics = createMetrics()
    const { log, lines } = collectLog()
    const run = async (list: typeof ALL) => {
      const outcome = await sync(db, list)
      reportSyncFinished({ metrics, log }, outcome)
      return outcome
    }
    await run(ALL)
    await reject(db, (await run(MOST)).runId)

    expect(await run(MOST)).toMatchObject({ status: 'held', agreeingLists: 2 })

    const levels = lines.map((line) => (JSON.parse(line) as { level: string }).level)
    expect(levels).toEqual(['info', 'warn', 'info'])
    const { values } = await metrics.syncReviews.get()
    expect(values.find(({ labels }) => labels.list === 'routes')?.value).toBe(1)
  })

  it('another suspicious list takes its place, and the count begins again', async ({ db }) => {
    await sync(db, ALL)
    const first = await sync(db, MOST)
    await sync(db, OTHER)
    await sync(db, MOST)
    await hoursPass(db, 25)
    const second = await sync(db, MOST)
    await hoursPass(db, 25)

    const last = await sync(db, MOST)

    expect(second).toMatchObject({ status: 'held', agreeingLists: 2 })
    expect(last).toMatchObject({ status: 'applied', reason: { code: 'agreed' }, removed: 60 })
    expect(last.reason?.text).toContain('3 lists over 50 hours agree')
    expect(await runOf(db, first.runId)).toMatchObject({ resolution: 'superseded' })
    const resolvedBy = last.runId
    expect(await runOf(db, second.runId)).toMatchObject({ resolution: 'agreed', resolvedBy })
  })

  it('the last accepted list is held when only its confirmations are too many', async ({ db }) => {
    const list = manyRoutes(100)
    await sync(db, list)
    await sync(db, list.slice(0, 86))
    await hoursPass(db, 20)
    await sync(db, list.slice(0, 86))
    await hoursPass(db, 5)
    await sync(db, list.slice(0, 74))

    const leak = await sync(db, list.slice(0, 74))
    const again = await sync(db, list.slice(0, 74))

    expect(leak).toMatchObject({ status: 'held', reason: { code: 'mass_removal' } })
    expect(again).toMatchObject({ status: 'held', agreeingLists: 2 })
  })
})

describe('a rejected list', () => {
  it('is never released without an operator, however long ago it was rejected', async ({ db }) => {
    await sync(db, ALL)
    const held = await sync(db, MOST)
    await reject(db, held.runId)
    await sync(db, ALL)
    await hoursPass(db, 31 * 24)
    expect(await pruneSnapshots(db, 30)).toBe(0)

    expect(await sync(db, MOST.slice(0, 139))).toMatchObject({ agreeingLists: 2 })
    await sync(db, MOST)
    await hoursPass(db, 25)

    expect(await sync(db, MOST)).toMatchObject({ status: 'held', agreeingLists: 4 })
  })

  it('is recognised by its bytes if it holds a secret and is not kept', async ({ db }) => {
    const secret = 'CANARY-0123456789'
    const scrub = createScrub([secret])
    const quoting = MOST.map((one, at) => (at === 0 ? { ...one, debug: secret } : one))
    await sync(db, ALL)
    await reject(db, (await sync(db, quoting, { scrub })).runId)

    expect(await keptLists(db)).toBe(1)
    expect(await sync(db, quoting, { scrub })).toMatchObject({ status: 'held', agreeingLists: 2 })
  })
})

describe('approving a run', () => {
  it('an approved empty list is applied', async ({ db }) => {
    await sync(db, routes('PMI-MAD'))
    const held = await sync(db, [])

    expect(await approve(db, held.runId)).toMatchObject({ status: 'approved', removed: 1, live: 0 })
    expect(await sync(db, [])).toMatchObject({ status: 'unchanged' })
  })

  it('two approvals at the same moment apply the list once', async ({ db }) => {
    await sync(db, ALL)
    const held = await sync(db, MOST)

    const approvals = await Promise.allSettled([approve(db, held.runId), approve(db, held.runId)])

    expect(approvals.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
    expect(await changes(db)).toHaveLength(60)
  })
})

describe('what a review shows', () => {
  it('an old accepted list is named as the likely cause, except of an empty list', async ({
    db,
  }) => {
    await sync(db, ALL)
    await hoursPass(db, 8 * 24)
    const shown = await review(db, (await sync(db, MOST)).runId)
    const ofEmpty = await review(db, (await sync(db, [])).runId)

    expect(shown).toMatchObject({ isLikelyReal: true, lastAcceptedAt: expect.any(Date) })
    expect(reviewText(asSent(shown))).toContain(
      `cause       the last accepted list is of ${secondText(shown.lastAcceptedAt ?? new Date(0))} UTC: `,
    )
    expect(ofEmpty).toMatchObject({ isLikelyReal: false })
    await sync(db, ALL)
    expect(await review(db, (await sync(db, MOST)).runId)).toMatchObject({ isLikelyReal: false })
  })

  it('a held run carries what its list would add and remove, and keeps it when it is dropped', async ({
    db,
  }) => {
    await sync(db, ALL)
    const { runId } = await sync(db, [...MOST, ...routes('NEW-ONE')])
    await reject(db, runId)
    await sync(db, ALL)

    const { rows } = await sql`
      select status, added, would_add, would_remove from farewatch.sync_runs order by sync_run_id
    `.execute(db)

    const never = { would_add: null, would_remove: null }
    expect(rows).toMatchObject([
      { status: 'applied', ...never },
      { status: 'dropped', added: 0, would_add: 1, would_remove: 60 },
      { status: 'unchanged', ...never },
    ])
  })
})
