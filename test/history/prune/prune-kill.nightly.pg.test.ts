import { describe, expect } from 'vitest'
import { type Db, type RawBuilder, sql } from '../../../src/platform/db/database.ts'
import { selectOne } from '../../../src/platform/db/transaction.ts'
import { aWorld } from '../../cli/operator-fixtures.ts'
import { countWaiting } from '../../platform/db/sessions.ts'
import { runFarewatch, startInTest } from '../../support/child-process.ts'
import { it } from '../../support/test-database.ts'
import { until } from '../../support/until.ts'
import {
  exportAll,
  exportedRows,
  routesAsOf,
  seedHistory,
  storedRows,
  temporaryDirectory,
  without,
} from './prune-fixtures.ts'

/** No row of any view. */
const NONE = {
  route_history: [],
  route_availability_history: [],
  fare_history: [],
  route_changes: [],
  availability_changes: [],
  watch_changes: [],
}

const BELOW = '2025-06-15T00:00Z'

/** A lock that stops a prune at one of its steps, and whether the floors have moved by then. */
const STEPS: readonly (readonly [step: string, lock: RawBuilder<unknown>, moved: boolean])[] = [
  ['plan', sql`lock table watch_change in access exclusive mode`, false],
  ['move the floors', sql`select from feed_head for update`, false],
  ['delete', sql`select from route_change where seq = 3 for update`, true],
]

/** How many rows the public views show of the histories and feeds. */
async function shownRows(db: Db): Promise<Record<string, number>> {
  const { rows } = await sql<{ name: string; shown: number }>`
    select 'route_history' as name, count(*) as shown from farewatch.route_history
    union all select 'route_availability_history', count(*) from farewatch.route_availability_history
    union all select 'fare_history', count(*) from farewatch.fare_history
    union all select 'route_changes', count(*) from farewatch.route_changes
    union all select 'availability_changes', count(*) from farewatch.availability_changes
    union all select 'watch_changes', count(*) from farewatch.watch_changes
  `.execute(db)
  return Object.fromEntries(rows.map(({ name, shown }) => [name, shown]))
}

describe('a prune whose process is killed', () => {
  for (const [step, lock, moved] of STEPS) {
    it(`loses nothing when it is about to ${step}, and the next one finishes it`, async ({
      database,
      databaseUrl,
    }) => {
      const { db } = database
      await seedHistory(db)
      const before = await storedRows(db)
      const to = await temporaryDirectory()
      await exportAll(database, to)
      const { env } = await aWorld(databaseUrl, 'postgres')
      const args = ['history', 'prune', '--before', '2026-06-01', '--export', to, '--yes']

      await db.transaction().execute(async (tx) => {
        await lock.execute(tx)
        const { child, ended, stderr } = startInTest(args, env)
        const waits = async () => child.exitCode !== null || (await countWaiting(db)) > 0
        await until(`the prune waits: ${stderr()}`, waits)
        child.kill('SIGKILL')
        expect(await ended).toBe('SIGKILL')
      })
      const isReleased = async () =>
        (
          await selectOne(
            sql<{ held: number }>`
            select count(*) as held from pg_locks
             where locktype = 'advisory' and database = (select oid from pg_database where datname = current_database())
          `,
            db,
          )
        ).held === 0
      await until('the lock of the killed prune is released', isReleased)

      if (!moved) expect(await storedRows(db)).toEqual(before)
      const meanwhile = await shownRows(db)
      const answer = await routesAsOf(db, BELOW)
      expect(answer.includes('is archived')).toBe(moved)
      const { exit, stderr } = await runFarewatch(args, env)
      expect([exit, stderr.includes('"level":"error"')]).toEqual([0, false])
      const gone = without(before, await storedRows(db))
      expect(gone.route_changes?.length).toBe(31)
      expect(without(gone, await exportedRows(to))).toEqual(NONE)
      // A view shows no row that is about to be deleted.
      if (moved) expect(meanwhile).toEqual(await shownRows(db))
    })
  }
})
