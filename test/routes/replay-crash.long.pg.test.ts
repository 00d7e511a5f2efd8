import { describe, expect } from 'vitest'
import { type Db, sql } from '../../src/platform/db/database.ts'
import { type RunningCommand, runFarewatch, startInTest } from '../support/child-process.ts'
import { it } from '../support/test-database.ts'
import { until } from '../support/until.ts'
import { blockTable, sessionsOf, untilStatement } from './crash-tools.ts'
import { manyRoutes, NO_GUARD, place, sync } from './sync-fixtures.ts'

const ALL = manyRoutes(30)
const LISTED = { list: 'with-availability', guard: NO_GUARD } as const
const unguarded = { guard: NO_GUARD }

/** Three accepted runs of each list. Routes and their availability end. */
async function syncThrice(db: Db): Promise<void> {
  for (const list of [ALL, ALL.slice(2), ALL.slice(2)]) {
    await sync(db, list, unguarded)
    await sync(db, list.slice(5), LISTED)
  }
}

/** Everything that a replay reads, in one text. */
async function liveTables(db: Db): Promise<string> {
  const tables = ['route_version', 'route_availability_version', 'place_version', 'sync_run']
  const texts = tables.map(async (table) => {
    const { rows } = await sql<{ line: string }>`
      select t::text as line from ${sql.table(table)} t order by line
    `.execute(db)
    return rows.map(({ line }) => line).join('\n')
  })
  return (await Promise.all(texts)).join('\n\n')
}

function startReplay(databaseUrl: string): RunningCommand {
  return startInTest(['replay', '--json'], { DATABASE_URL: databaseUrl })
}

describe('a replay that is disturbed', { timeout: 300_000 }, () => {
  it('leaves the live tables as they are when it is killed, and the next replay runs', async ({
    db,
    databaseUrl,
  }) => {
    await syncThrice(db)
    const before = await liveTables(db)
    const release = await blockTable(
      databaseUrl,
      'farewatch_private.watch_change',
      'access exclusive',
    )
    const replaying = startReplay(databaseUrl)
    await untilStatement(db, { role: 'replay', text: 'watch_change' })

    replaying.child.kill('SIGKILL')
    expect(await replaying.ended).toBe('SIGKILL')
    await until(
      'its sessions have ended',
      async () => (await sessionsOf(db, 'replay')).length === 0,
    )
    await release()

    expect(await liveTables(db)).toBe(before)
    const again = await runFarewatch(['replay', '--json'], { DATABASE_URL: databaseUrl })
    expect(again.exit).toBe(0)
    expect(JSON.parse(again.stdout)).toMatchObject({ equal: true, differences: 0 })
    expect(await liveTables(db)).toBe(before)
  })

  it('compares the same instants when lists are applied in the middle of the comparison', async ({
    db,
    databaseUrl,
  }) => {
    await syncThrice(db)
    // It has read the lists by then, and compares the histories afterwards.
    const release = await blockTable(
      databaseUrl,
      'farewatch_private.watch_change',
      'access exclusive',
    )
    const replaying = startReplay(databaseUrl)
    await untilStatement(db, { role: 'replay', text: 'watch_change' })

    // Routes and availability end, return and begin, and a place changes: all after the runs that the replay has numbered.
    const changed = ALL.map((one) => ({ ...one, departure: place('HUB', { city: 'Renamed' }) }))
    for (const list of [changed.slice(10), changed.slice(10), changed]) {
      await sync(db, list, unguarded)
      await sync(db, list.slice(8), LISTED)
    }
    await release()

    expect(await replaying.ended).toBe(0)
    expect(JSON.parse(replaying.stdout())).toMatchObject({
      equal: true,
      lists: [{ runs: 3 }, { runs: 3 }],
    })
    const { stdout } = await runFarewatch(['replay', '--json'], { DATABASE_URL: databaseUrl })
    expect(JSON.parse(stdout)).toMatchObject({ equal: true, lists: [{ runs: 6 }, { runs: 6 }] })
  })
})
