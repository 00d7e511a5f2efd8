import { describe, expect } from 'vitest'
import { planText } from '../../src/cli/text/sync-report-text.ts'
import { type Db, sql } from '../../src/platform/db/database.ts'
import { dryRun } from '../../src/routes/read/plan-report.ts'
import { it } from '../support/test-database.ts'
import { depsOf } from './held-fixtures.ts'
import { place, route, routes, sync } from './sync-fixtures.ts'

const never = new AbortController().signal
const plan = (db: Db, list: ReturnType<typeof routes>) => dryRun(depsOf(db, list), 'routes', never)

/** All tables that a sync may write, as one text. */
async function everything(db: Db): Promise<string> {
  const tables = [
    'sync_run',
    'route_version',
    'place_version',
    'pending_absence',
    'pending_place',
    'route_change',
    'snapshot',
  ]
  const texts = tables.map(async (table) => {
    const { rows } = await sql`select t::text from ${sql.table(table)} t order by 1`.execute(db)
    return JSON.stringify(rows)
  })
  return (await Promise.all(texts)).join()
}

describe('dry runs', () => {
  it('a dry run reports what would be added, removed, awaited and changed, and changes nothing', async ({
    db,
  }) => {
    await sync(db, routes('PMI-MAD', 'PMI-BCN', 'PMI-IBZ'))
    const edited = { departure: place('PMI'), destination: place('MAD', { city: 'Vallecas' }) }
    await sync(db, [edited, route('PMI-IBZ'), edited])
    const before = await everything(db)

    const report = await plan(db, [edited, route('PMI-SVQ')])

    expect(report).toMatchObject({
      baseline: false,
      liveBefore: 3,
      missing: 2,
      verdict: null,
      forecast: { added: 1, removed: 1, pendingAbsences: 1, placesChanged: 1, live: 3 },
    })
    expect(report.examples.added.map((r) => r.destination.id)).toEqual(['SVQ'])
    expect(report.examples.missing.map((r) => r.destination.id)).toEqual(['BCN', 'IBZ'])
    expect(await everything(db)).toBe(before)
    expect(planText(report).split('\n').at(-1)).toBe(
      'it would add 1, remove 1, change 1 place, leave 1 absence pending (3 live after)',
    )
  })
})
