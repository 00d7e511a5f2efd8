import { describe, expect } from 'vitest'
import { sql } from '../../src/db/database.ts'
import { withSessionLock } from '../../src/db/session-lock.ts'
import { it } from '../support/test-database.ts'
import { approve, hoursPass, keptLists, reject, review, runOf } from './review-fixtures.ts'
import { availability, changes, livePairs, manyRoutes, routes, sync } from './sync-fixtures.ts'

const ALL = manyRoutes(200)
const MOST = ALL.slice(0, 140)
const LISTED = { list: 'with-availability' } as const

describe('a list that agrees with a held one', () => {
  it('joins its review when at most 1 % of the routes differ', async ({ db }) => {
    await sync(db, ALL)
    const held = await sync(db, MOST)

    const near = await sync(db, [...MOST.slice(0, 139)])
    const far = await sync(db, MOST.slice(0, 138))

    expect(near).toMatchObject({ status: 'held', reviewId: held.runId })
    expect(far).toMatchObject({ status: 'held', reviewId: far.runId })
  })

  it('joins the review of one that a normal list had dropped', async ({ db }) => {
    await sync(db, ALL)
    const held = await sync(db, MOST)
    const normal = await sync(db, ALL)
    expect(await runOf(db, held.runId)).toMatchObject({
      status: 'dropped',
      resolution: 'normal_list',
      resolvedBy: normal.runId,
    })

    expect(await sync(db, MOST)).toMatchObject({ status: 'held', reviewId: held.runId })
  })

  it('opens a review of its own when the other was approved and made good since', async ({
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

  it('opens a review of its own when the other cannot be read any more', async ({ db }) => {
    await sync(db, ALL)
    await sync(db, MOST)
    await sql`update snapshot_part set content = substr(content, 1, 20)`.execute(db)

    const near = await sync(db, MOST.slice(0, 139))

    expect(near).toMatchObject({ status: 'held', reviewId: near.runId })
  })

  it('joins though it is the last accepted one again, and only its confirmations are too many', async ({
    db,
  }) => {
    const list = manyRoutes(100)
    await sync(db, list)
    await sync(db, list.slice(0, 86))
    await sync(db, list.slice(0, 86))
    await sync(db, list.slice(0, 74))

    const leak = await sync(db, list.slice(0, 74))
    const again = await sync(db, list.slice(0, 74))

    expect(leak).toMatchObject({ status: 'held', reason: { code: 'mass_removal' } })
    expect(again).toMatchObject({ status: 'held', reviewId: leak.runId })
  })
})

describe('three lists that agree over a day', () => {
  it('are applied by the third, and the others are dropped for it', async ({ db }) => {
    await sync(db, ALL)
    const first = await sync(db, MOST)
    await hoursPass(db, 20)
    const second = await sync(db, MOST)
    await hoursPass(db, 5)

    const third = await sync(db, MOST)

    expect(third).toMatchObject({
      status: 'applied',
      removed: 60,
      live: 140,
      reviewId: first.runId,
    })
    expect(third.reason).toMatchObject({ code: 'agreed' })
    for (const { runId } of [first, second]) {
      expect(await runOf(db, runId)).toMatchObject({
        status: 'dropped',
        resolution: 'agreed',
        resolvedBy: third.runId,
      })
    }
  })

  it('await a second absence of what only the third lacks', async ({ db }) => {
    await sync(db, ALL)
    await sync(db, MOST)
    await sync(db, MOST)
    await hoursPass(db, 25)

    const third = await sync(db, MOST.slice(0, 139))

    expect(third).toMatchObject({ status: 'applied', removed: 60, pendingAbsences: 1, live: 140 })
  })

  it('stay held when they lost more than half, or came within a few hours', async ({ db }) => {
    await sync(db, ALL)
    for (let i = 0; i < 3; i += 1) await sync(db, ALL.slice(0, 99))
    for (let i = 0; i < 3; i += 1) await sync(db, MOST)
    await hoursPass(db, 25)

    expect(await sync(db, ALL.slice(0, 99))).toMatchObject({ status: 'held' })
    expect(await livePairs(db)).toHaveLength(200)
  })

  it('stay held when a person has rejected the like', async ({ db }) => {
    await sync(db, ALL)
    const held = await sync(db, MOST)
    await reject(db, held.runId)
    await sync(db, MOST)
    await sync(db, MOST)
    await hoursPass(db, 25)

    expect(await sync(db, MOST)).toMatchObject({ status: 'held', reviewId: held.runId })
  })
})

describe('approving', () => {
  it('of a first list makes it the baseline', async ({ db }) => {
    const held = await sync(db, [])

    expect(await approve(db, held.runId)).toMatchObject({ status: 'approved', baseline: true })
    expect(await sync(db, routes('PMI-MAD'))).toMatchObject({ status: 'applied', baseline: false })
  })

  it('makes the list the one that the next is compared with', async ({ db }) => {
    await sync(db, ALL)
    const held = await sync(db, MOST)
    await approve(db, held.runId)

    expect(await sync(db, MOST)).toMatchObject({ status: 'unchanged', live: 140 })
  })

  it('applies an empty list, when a person says so', async ({ db }) => {
    await sync(db, routes('PMI-MAD'))
    const held = await sync(db, [])

    expect(await approve(db, held.runId)).toMatchObject({ status: 'approved', removed: 1, live: 0 })
    expect(await sync(db, [])).toMatchObject({ status: 'unchanged' })
  })

  it('applies a with-availability list of no known route, and does not ask about it again', async ({
    db,
  }) => {
    await sync(db, routes('PMI-MAD'))
    await sync(db, routes('PMI-MAD'), LISTED)
    const held = await sync(db, [], LISTED)
    await approve(db, held.runId)
    // The same bytes speak of other routes now.
    await sync(db, routes('PMI-MAD', 'PMI-BCN'))

    expect(await sync(db, [], LISTED)).toMatchObject({ reason: null, live: 0 })
  })

  it('takes availability at once from what a held with-availability list lacks', async ({ db }) => {
    const few = manyRoutes(20)
    await sync(db, few)
    await sync(db, few, LISTED)
    const held = await sync(db, few.slice(0, 10), LISTED)

    expect(await approve(db, held.runId)).toMatchObject({ status: 'approved', lost: 10, live: 10 })
    expect(Object.values(await availability(db)).filter((available) => available)).toHaveLength(10)
  })

  it('is refused for a run that is not held, and says what became of it', async ({ db }) => {
    await sync(db, ALL)
    const held = await sync(db, MOST)
    await sync(db, ALL)

    await expect(approve(db, held.runId)).rejects.toThrow(`run ${held.runId} is dropped, not held`)
    await expect(reject(db, held.runId)).rejects.toMatchObject({ code: 'sync.not_held' })
    await expect(review(db, held.runId)).rejects.toMatchObject({ code: 'sync.not_held' })
    await expect(approve(db, 999)).rejects.toMatchObject({ code: 'sync.run_not_found' })
  })

  it('is refused for a list that a later accepted one has made stale', async ({ db }) => {
    await sync(db, ALL)
    const held = await sync(db, MOST)
    const later = await sync(db, ALL)
    // As a version that knows no reviews would have left it.
    await db.updateTable('sync_run').set({ status: 'held' }).where('id', '=', held.runId).execute()

    const refused = approve(db, held.runId)

    await expect(refused).rejects.toThrow(`run ${later.runId} has brought a later list`)
    expect(await runOf(db, held.runId)).toMatchObject({ status: 'held' })
    expect(await livePairs(db)).toHaveLength(200)
  })

  it('is refused when the list is no longer kept', async ({ db }) => {
    await sync(db, ALL)
    const held = await sync(db, MOST)
    await db.deleteFrom('snapshot' as never).execute()

    await expect(approve(db, held.runId)).rejects.toMatchObject({ code: 'sync.snapshot_gone' })
    expect(await keptLists(db)).toBe(0)
  })

  it('is done once, though two ask for it at the same moment', async ({ db }) => {
    await sync(db, ALL)
    const held = await sync(db, MOST)

    const asked = await Promise.allSettled([approve(db, held.runId), approve(db, held.runId)])

    expect(asked.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
    expect(await changes(db)).toHaveLength(60)
  })

  it('waits while another process is at the list', async ({ db }) => {
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
})

describe('rejecting', () => {
  it('drops all that are held under the review, and no other', async ({ db }) => {
    await sync(db, ALL)
    const held = await sync(db, MOST)
    const like = await sync(db, MOST)
    const other = await sync(db, ALL.slice(0, 50))

    expect(await reject(db, like.runId)).toEqual([held.runId, like.runId])

    expect(await runOf(db, other.runId)).toMatchObject({ status: 'held' })
    expect(await livePairs(db)).toHaveLength(200)
    expect(await changes(db)).toEqual([])
  })
})
