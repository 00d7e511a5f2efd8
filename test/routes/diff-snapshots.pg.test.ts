import { describe, expect } from 'vitest'
import { differenceText } from '../../src/cli/text/sync-report-text.ts'
import type { Db } from '../../src/platform/db/database.ts'
import { diffSnapshots, type ListDifference } from '../../src/routes/read/diff-snapshots.ts'
import { it } from '../support/test-database.ts'
import { manyRoutes, noScrub, place, route, routes, sync } from './sync-fixtures.ts'

async function diff(db: Db, from: number, to: number): Promise<ListDifference[]> {
  const found: ListDifference[] = []
  for await (const page of diffSnapshots({ db, scrub: noScrub }, [from, to])) found.push(...page)
  return found
}

describe('the differences between two lists', () => {
  it('the differences are changed places, removed routes and added routes', async ({ db }) => {
    const first = await sync(db, routes('PMI-MAD', 'PMI-BCN', 'PMI-BCN'))
    const edited = {
      departure: place('PMI', { city: 'Palma', iata: '' }),
      destination: place('MAD'),
    }
    const second = await sync(db, [route('IBZ-PMI'), edited])

    const found = await diff(db, first.runId, second.runId)

    expect(found.map(differenceText)).toEqual([
      expect.stringContaining('~ #PMI '),
      '- PMI City PMI → BCN City BCN',
      expect.stringContaining('+ IBZ City IBZ → '),
    ])
  })

  it('the differences come in pages, each route once, and a reader that stops frees the connection', async ({
    db,
    database,
  }) => {
    const first = await sync(db, routes('PMI-MAD'))
    const second = await sync(db, manyRoutes(6_000))

    const found = await diff(db, first.runId, second.runId)
    expect(new Set(found.map((d) => JSON.stringify(d))).size).toBe(6_001)

    for await (const page of diffSnapshots({ db, scrub: noScrub }, [first.runId, second.runId])) {
      expect(page).toHaveLength(5_000)
      break
    }
    expect(database.pool.idleCount).toBe(database.pool.totalCount)
    expect(await diff(db, first.runId, first.runId)).toEqual([])
  })

  it('a comparison fails for an unknown run and for a list that is not kept', async ({ db }) => {
    const { runId } = await sync(db, routes('PMI-MAD'))
    await expect(diff(db, runId, 99)).rejects.toMatchObject({ code: 'not_found' })

    await db.deleteFrom('snapshot' as never).execute()
    await expect(diff(db, runId, runId)).rejects.toMatchObject({ code: 'sync.snapshot_gone' })
  })
})
