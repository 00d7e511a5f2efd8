import { describe, expect } from 'vitest'
import type { Db } from '../../src/db/database.ts'
import { it } from '../support/test-database.ts'
import { approve, hoursPass, review, runOf } from './review-fixtures.ts'
import { manyRoutes, sync } from './sync-fixtures.ts'

const ALL = manyRoutes(200)
/** Every third route is flown in summer only. */
const SUMMER = new Set(ALL.filter((_, i) => i % 3 === 0))
const WINTER = ALL.filter((route) => !SUMMER.has(route))
const DAY = 24

/** The summer routes ended on this day of last year, and returned in spring. */
async function lastYear(db: Db): Promise<void> {
  await sync(db, ALL)
  await hoursPass(db, 30 * DAY)
  await approve(db, (await sync(db, WINTER)).runId)
  await hoursPass(db, 150 * DAY)
  await sync(db, ALL)
  await hoursPass(db, 215 * DAY)
}

describe('a held list', () => {
  it('is released by a second one after twelve hours if it lacks what ended in these weeks of last year', async ({
    db,
  }) => {
    await lastYear(db)
    const held = await sync(db, WINTER)
    await hoursPass(db, 11)
    const early = await sync(db, WINTER)
    await hoursPass(db, 1)

    const released = await sync(db, WINTER)

    expect([held.status, early.status]).toEqual(['held', 'held'])
    expect(released).toMatchObject({ status: 'applied', removed: 67, reason: { code: 'agreed' } })
    expect(released.reason?.text).toContain('lack what ended in the same weeks of last year')
    expect(await runOf(db, held.runId)).toMatchObject({ status: 'dropped', resolution: 'agreed' })
  })

  it('waits for a whole day if it lacks other routes than the season’s', async ({ db }) => {
    await lastYear(db)
    const cut = ALL.slice(0, 120)
    await sync(db, cut)
    await hoursPass(db, 13)

    expect(await sync(db, cut)).toMatchObject({ status: 'held' })
  })

  it('is explained: what speaks for an accident, and what last year did', async ({ db }) => {
    await lastYear(db)
    const season = await review(db, (await sync(db, WINTER)).runId)
    await sync(db, ALL)
    const cut = await review(db, (await sync(db, ALL.slice(0, 120))).runId)

    expect(season.plan.assessment).toEqual({
      cause: 'season',
      signs: [
        'In the same weeks of last year 67 of the live routes ended. The list lacks 67 of them, which is 100.0 % of all that it lacks.',
      ],
    })
    expect(cut.plan.assessment?.cause).toBe('accident')
    expect(cut.plan.assessment?.signs[0]).toBe(
      '100.0 % of the missing routes are the end of the last accepted list: the list was cut.',
    )
  })

  it('is shown by a sample of its missing routes, the same in each report', async ({ db }) => {
    await sync(db, ALL)
    const { runId } = await sync(db, ALL.slice(0, 100))

    const [first, second] = [await review(db, runId), await review(db, runId)]

    const shown = first.plan.examples.missing.map(({ destination }) => destination.id)
    const byId = ALL.slice(100)
      .map(({ destination }) => destination.id)
      .sort((a, b) => (a < b ? -1 : 1))
    expect(shown).toHaveLength(5)
    expect(shown).not.toEqual(byId.slice(0, 5))
    expect(second.plan.examples).toEqual(first.plan.examples)
    expect(first.plan.assessment?.signs.at(-1)).toContain('too short')
  })
})
