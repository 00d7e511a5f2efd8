import { describe, expect } from 'vitest'
import { reviewText } from '../../src/cli/text/sync-report-text.ts'
import { createScrub } from '../../src/platform/base/secrets.ts'
import { pruneSnapshots } from '../../src/routes/snapshots/snapshots.ts'
import { it } from '../support/test-database.ts'
import { hoursPass, keptLists, reject, review, runOf } from './review-fixtures.ts'
import { manyRoutes, sync } from './sync-fixtures.ts'

const ALL = manyRoutes(200)
const MOST = ALL.slice(0, 140)

describe('two alternating accidents', () => {
  const OTHER = ALL.slice(60)

  it('the accident that repeats three times in a row is applied, and the review of the other is dropped', async ({
    db,
  }) => {
    await sync(db, ALL)
    const early = await sync(db, MOST)
    const other = await sync(db, OTHER)
    const second = await sync(db, MOST)
    await sync(db, MOST)
    await hoursPass(db, 25)

    const last = await sync(db, MOST)

    expect(last).toMatchObject({ status: 'applied', reason: { code: 'agreed' }, removed: 60 })
    expect(last.reason?.text).toContain(`3 lists over 25 hours agree (runs ${second.runId}, `)
    const resolvedBy = last.runId
    expect(await runOf(db, early.runId)).toMatchObject({ resolution: 'agreed', resolvedBy })
    expect(await runOf(db, other.runId)).toMatchObject({ resolution: 'normal_list', resolvedBy })
  })
})

describe('a rejected list', () => {
  it('a rejected list is never released without an operator, however long ago it was rejected', async ({
    db,
  }) => {
    await sync(db, ALL)
    const held = await sync(db, MOST)
    await sync(db, [...MOST].reverse())
    await reject(db, held.runId)
    await hoursPass(db, 31 * 24)
    expect(await pruneSnapshots(db, 30)).toBe(1)

    expect(await sync(db, MOST.slice(0, 139))).toMatchObject({ reviewId: held.runId })
    await sync(db, MOST)
    await hoursPass(db, 25)

    expect(await sync(db, MOST)).toMatchObject({ status: 'held', reviewId: held.runId })
  })

  it('a rejected list that holds a secret and is not kept is never released without an operator', async ({
    db,
  }) => {
    const secret = 'CANARY-0123456789'
    const scrub = createScrub([secret])
    const quoting = MOST.map((one, at) => (at === 0 ? { ...one, debug: secret } : one))
    await sync(db, ALL)
    const held = await sync(db, quoting, { scrub })
    await reject(db, held.runId)
    await sync(db, quoting, { scrub })
    await sync(db, quoting, { scrub })
    await hoursPass(db, 25)

    expect(await keptLists(db)).toBe(1)
    expect(await sync(db, quoting, { scrub })).toMatchObject({
      status: 'held',
      reviewId: held.runId,
    })
  })

  it('a review shows that an operator has rejected an agreeing list', async ({ db }) => {
    await sync(db, ALL)
    const held = await sync(db, MOST)
    expect(await review(db, held.runId)).toMatchObject({ rejected: null })
    await reject(db, held.runId)
    const again = await sync(db, MOST)

    const shown = await review(db, again.runId)

    expect(shown.rejected).toEqual({ runs: [held.runId], at: expect.any(Date) })
    expect(reviewText(shown)).toContain(`rejected    run ${held.runId} of this review at 20`)
  })
})
