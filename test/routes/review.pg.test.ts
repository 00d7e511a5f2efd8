import { describe, expect } from 'vitest'
import { sql } from '../../src/platform/db/database.ts'
import { withSessionLock } from '../../src/platform/db/session-lock.ts'
import { approveRun } from '../../src/routes/review/decide-run.ts'
import { it } from '../support/test-database.ts'
import { approve, hoursPass, reject, review, runOf } from './review-fixtures.ts'
import { changes, livePairs, manyRoutes, noScrub, routes, sync } from './sync-fixtures.ts'

const ALL = manyRoutes(200)
const MOST = ALL.slice(0, 140)
const LISTED = { list: 'with-availability' } as const

describe('matching a review', () => {
  it('a list joins the review of a held one when at most 1 % of the routes differ', async ({
    db,
  }) => {
    await sync(db, ALL)
    const held = await sync(db, MOST)

    const near = await sync(db, [...MOST.slice(0, 139)])
    const far = await sync(db, MOST.slice(0, 138))

    expect(near).toMatchObject({ status: 'held', reviewId: held.runId })
    expect(far).toMatchObject({ status: 'held', reviewId: far.runId })
  })

  it('a list opens its own review when the agreeing one was approved and has been repaired since', async ({
    db,
  }) => {
    await sync(db, ALL)
    const held = await sync(db, MOST)
    const other = await sync(db, MOST)
    await approve(db, other.runId)
    expect(await runOf(db, held.runId)).toMatchObject({
      status: 'dropped',
      resolution: 'superseded',
    })
    await sync(db, ALL)

    const again = await sync(db, MOST)

    expect(again).toMatchObject({ status: 'held', reviewId: again.runId })
  })

  it('a list opens its own review when the agreeing one can no longer be read', async ({ db }) => {
    await sync(db, ALL)
    await sync(db, MOST)
    await sql`update snapshot_part set content = substr(content, 1, 20)`.execute(db)

    const near = await sync(db, MOST.slice(0, 139))

    expect(near).toMatchObject({ status: 'held', reviewId: near.runId })
  })

  it('the last accepted list joins a review when only its confirmations are too many', async ({
    db,
  }) => {
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
    expect(again).toMatchObject({ status: 'held', reviewId: leak.runId })
  })
})

describe('approving a run', () => {
  it('an approved first list is the baseline', async ({ db }) => {
    const held = await sync(db, [])

    expect(await approve(db, held.runId)).toMatchObject({ status: 'approved', baseline: true })
    expect(await sync(db, routes('PMI-MAD'))).toMatchObject({ status: 'applied', baseline: false })
  })

  it('an approved empty list is applied', async ({ db }) => {
    await sync(db, routes('PMI-MAD'))
    const held = await sync(db, [])

    expect(await approve(db, held.runId)).toMatchObject({ status: 'approved', removed: 1, live: 0 })
    expect(await sync(db, [])).toMatchObject({ status: 'unchanged' })
  })

  it('an approved with-availability list of unknown pairs is applied, and its repetition is not held', async ({
    db,
  }) => {
    await sync(db, routes('PMI-MAD'))
    await sync(db, routes('PMI-MAD'), LISTED)
    const held = await sync(db, [], LISTED)
    await approve(db, held.runId)
    // Now the same bytes name known routes.
    await sync(db, routes('PMI-MAD', 'PMI-BCN'))

    expect(await sync(db, [], LISTED)).toMatchObject({ reason: null, live: 0 })
  })

  it('the approval of a run that is not held fails and names the status', async ({ db }) => {
    await sync(db, ALL)
    const held = await sync(db, MOST)
    await sync(db, ALL)

    await expect(approve(db, held.runId)).rejects.toThrow(`run ${held.runId} is dropped, not held`)
    await expect(reject(db, held.runId)).rejects.toMatchObject({ code: 'sync.not_held' })
    await expect(review(db, held.runId)).rejects.toMatchObject({ code: 'sync.not_held' })
    await expect(approve(db, 999)).rejects.toMatchObject({ code: 'sync.run_not_found' })
  })

  it('the approval of a list fails after a later list was accepted', async ({ db }) => {
    await sync(db, ALL)
    const held = await sync(db, MOST)
    const later = await sync(db, ALL)
    // The state that a version without reviews would leave.
    await db.updateTable('sync_run').set({ status: 'held' }).where('id', '=', held.runId).execute()

    const refused = approve(db, held.runId)

    await expect(refused).rejects.toThrow(`run ${later.runId} has brought a later list`)
    expect(await runOf(db, held.runId)).toMatchObject({ status: 'held' })
    expect(await livePairs(db)).toHaveLength(200)
  })

  it('two approvals at the same moment apply the list once', async ({ db }) => {
    await sync(db, ALL)
    const held = await sync(db, MOST)

    const approvals = await Promise.allSettled([approve(db, held.runId), approve(db, held.runId)])

    expect(approvals.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
    expect(await changes(db)).toHaveLength(60)
  })

  it('an approval waits while another process syncs the list', async ({ db }) => {
    await sync(db, ALL)
    const held = await sync(db, MOST)
    let approving: Promise<unknown> = Promise.resolve()

    await withSessionLock(db, 'route-sync:routes', async () => {
      approving = approve(db, held.runId)
      await sync(db, ALL, LISTED)
      expect(await runOf(db, held.runId)).toMatchObject({ status: 'held' })
    })

    expect(await approving).toMatchObject({ status: 'approved' })
  })

  it('an approval ends with the session that holds the list, if that is not released in time', async ({
    db,
  }) => {
    await sync(db, ALL)
    const held = await sync(db, MOST)
    let now = Date.now()
    const clock = {
      now: () => new Date(now),
      sleep: async () => {
        now += 60_000
      },
    }
    const deps = { db, scrub: noScrub, clock }

    const approving = withSessionLock(db, 'route-sync:routes', () =>
      approveRun(deps, held.runId, new AbortController().signal),
    )

    await expect(approving).rejects.toMatchObject({
      code: 'sync.busy',
      message: expect.stringMatching(/held by role \S+, process \d+/),
    })
    expect(await runOf(db, held.runId)).toMatchObject({ status: 'held' })
  })
})

describe('what a review shows', () => {
  it('the examples are a sample over all places, and the same one at each reading', async ({
    db,
  }) => {
    const hubs = ['AAA', 'BBB', 'CCC', 'DDD', 'EEE'].flatMap((hub) => manyRoutes(60, hub))
    await sync(db, hubs)
    const held = await sync(
      db,
      hubs.filter((_, i) => i % 2 === 0),
    )

    const { plan } = await review(db, held.runId)

    const from = new Set(plan.examples.missing.map(({ departure }) => departure.id))
    expect(plan.examples.missing).toHaveLength(5)
    expect(from.size).toBeGreaterThan(1)
    expect((await review(db, held.runId)).plan.examples).toEqual(plan.examples)
  })

  it('a held run carries what its list would add and remove, and keeps it when it is dropped', async ({
    db,
  }) => {
    await sync(db, ALL)
    const { runId } = await sync(db, [...MOST, ...routes('NEW-ONE')])
    await reject(db, runId)
    await sync(db, ALL)

    const { rows } = await sql`
      select status, added, would_add, would_remove from farewatch.sync_runs order by id
    `.execute(db)

    const never = { would_add: null, would_remove: null }
    expect(rows).toMatchObject([
      { status: 'applied', ...never },
      { status: 'dropped', added: 0, would_add: 1, would_remove: 60 },
      { status: 'unchanged', ...never },
    ])
  })
})
