import { describe, expect } from 'vitest'
import { type Db, sql } from '../../src/platform/db/database.ts'
import { runFarewatch, startInTest } from '../support/child-process.ts'
import { it } from '../support/test-database.ts'
import { until } from '../support/until.ts'
import { blockTable, sessionsOf, untilStatement } from './crash-tools.ts'
import { manyRoutes, NO_GUARD, place, sync } from './sync-fixtures.ts'

const PROVE = ['history', 'prove', '--json']
const ALL = manyRoutes(30)
const unguarded = { guard: NO_GUARD }

/** Three accepted runs of each list. Routes and their availability end. */
async function syncThrice(db: Db): Promise<void> {
  for (const list of [ALL, ALL.slice(2), ALL.slice(2)]) {
    await sync(db, list, unguarded)
    await sync(db, list.slice(5), { ...unguarded, list: 'with-availability' })
  }
}

/** Starts a proof that has read the lists, and waits before it compares the histories. */
async function startBlocked(db: Db, url: string) {
  const release = await blockTable(url, 'farewatch_private.watch_change', 'access exclusive')
  const proving = startInTest(PROVE, { DATABASE_URL: url })
  await untilStatement(db, { role: 'prove', text: 'Loaded into the transaction of a proof' })
  return { proving, release }
}

async function prove(url: string) {
  const { stdout } = await runFarewatch(PROVE, { DATABASE_URL: url })
  return JSON.parse(stdout)
}

describe('a proof that is disturbed', { timeout: 300_000 }, () => {
  it('leaves nothing in the database when it is killed, and the next proof runs', async ({
    db,
    databaseUrl,
  }) => {
    await syncThrice(db)
    const { proving, release } = await startBlocked(db, databaseUrl)

    proving.child.kill('SIGKILL')
    expect(await proving.ended).toBe('SIGKILL')
    await until('its sessions have ended', async () => (await sessionsOf(db, 'prove')).length === 0)
    await release()

    expect(await prove(databaseUrl)).toMatchObject({ equal: true, differences: 0 })
    const { rows } = await sql`select relname from pg_class where relname like 'proof%'`.execute(db)
    expect(rows).toEqual([])
  })

  it('compares the same instants when lists are applied in the middle of the comparison', async ({
    db,
    databaseUrl,
  }) => {
    await syncThrice(db)
    const { proving, release } = await startBlocked(db, databaseUrl)

    // Routes and availability end, return and begin, and a place changes: all after the runs that are numbered.
    const changed = ALL.map((one) => ({ ...one, departure: place('HUB', { city: 'Renamed' }) }))
    for (const list of [changed.slice(10), changed.slice(10), changed]) {
      await sync(db, list, unguarded)
      await sync(db, list.slice(8), { ...unguarded, list: 'with-availability' })
    }
    await release()

    expect(await proving.ended).toBe(0)
    const lists = (runs: number) => ({ equal: true, lists: [{ runs }, { runs }] })
    expect(JSON.parse(proving.stdout())).toMatchObject(lists(3))
    expect(await prove(databaseUrl)).toMatchObject(lists(6))
  })
})
