import { describe, expect } from 'vitest'
import { type Db, sql } from '../../src/platform/db/database.ts'
import { showRun } from '../../src/routes/runs.ts'
import { loadSnapshot, pruneSnapshots } from '../../src/routes/snapshots.ts'
import { it } from '../support/test-database.ts'
import { hoursPass } from './held-fixtures.ts'
import { manyRoutes, NO_GUARD, place, routes, sync, syncBody } from './sync-fixtures.ts'

async function keptText(db: Db, runId: number): Promise<string> {
  const { contentHash } = await showRun(db, runId)
  return Buffer.concat(await loadSnapshot(db, { runId, contentHash })).toString()
}

const DAYS = 24

describe('kept lists', () => {
  it('an applied or held list is kept byte by byte', async ({ db }) => {
    const body = ` ${JSON.stringify(manyRoutes(40))}\n`
    const applied = await syncBody(db, body)
    const held = await syncBody(db, '[]')

    expect(await keptText(db, applied.runId)).toBe(body)
    expect(await keptText(db, held.runId)).toBe('[]')
  })

  it('a list with a missing or changed part is reported as damaged', async ({ db }) => {
    const { runId } = await sync(db, manyRoutes(40))
    await sql`update snapshot_part set content = substr(content, 1, 20)`.execute(db)
    await expect(keptText(db, runId)).rejects.toMatchObject({ code: 'sync.snapshot_damaged' })

    await sql`delete from snapshot_part`.execute(db)
    await expect(keptText(db, runId)).rejects.toMatchObject({ code: 'sync.snapshot_damaged' })
  })
})

describe('the retention of lists', () => {
  it('old lists are deleted, except held ones and the last accepted one of each kind', async ({
    db,
  }) => {
    const old = await sync(db, [
      ...manyRoutes(40),
      { departure: place('OLD'), destination: place('ONE') },
    ])
    const last = await sync(db, manyRoutes(40))
    const available = await sync(db, manyRoutes(39), { list: 'with-availability' })
    const held = await sync(db, manyRoutes(10))
    await hoursPass(db, 31 * DAYS)

    expect(await pruneSnapshots(db, 30)).toBe(1)

    expect((await showRun(db, old.runId)).storedBytes).toBeNull()
    for (const { runId } of [last, available, held]) {
      expect((await showRun(db, runId)).storedBytes).toBeGreaterThan(0)
    }
  })

  it('after a week the last list of each day and kind is kept', async ({ db }) => {
    const runs: number[] = []
    for (const [hours, pairs, list] of [
      [9 * 24 + 13, 'PMI-MAD', 'routes'],
      [9 * 24 + 5, 'PMI-BCN', 'routes'],
      [9 * 24 + 1, 'PMI-VLC', 'with-availability'],
      [8 * 24 + 9, 'PMI-LIS', 'routes'],
      [3 * 24 + 9, 'PMI-OPO', 'routes'],
      [3 * 24 + 8, 'PMI-NCE', 'routes'],
      [1, 'PMI-SVQ', 'routes'],
    ] as const) {
      const { runId } = await sync(db, routes(pairs), { list, confirmations: 1, guard: NO_GUARD })
      runs.push(runId)
      // Counted back from the end of the present day, so that lists of one day stay on it.
      await sql`
        update snapshot set kept_at = date_trunc('day', clock_timestamp()) + interval '1 day' - ${hours} * interval '1 hour'
         where content_hash = (select content_hash from sync_run where id = ${runId})
      `.execute(db)
    }

    await pruneSnapshots(db, 30)

    const kept = await Promise.all(
      runs.map(async (id) => (await showRun(db, id)).storedBytes !== null),
    )
    expect(kept).toEqual([false, true, true, true, true, true, true])
  })
})
