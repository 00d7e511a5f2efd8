import { describe, expect, onTestFinished } from 'vitest'
import { type Db, sql } from '../../src/platform/db/database.ts'
import type { Route } from '../../src/upstream/route-list.ts'
import { makeListsDue } from '../chaos/steps.ts'
import { startInTest } from '../support/child-process.ts'
import { startListServer } from '../support/list-server.ts'
import { it } from '../support/test-database.ts'
import { until } from '../support/until.ts'
import { blockTable, sessionsOf, untilStatement } from './crash-tools.ts'
import { changes, livePairs, manyRoutes, place, routes, sync } from './sync-fixtures.ts'

const BEFORE = [...manyRoutes(60_000), ...routes('OLD-ONE')]
/** One route removed, one added, one place edited. */
const AFTER = [
  ...manyRoutes(60_000).slice(1),
  ...routes('NEW-TWO'),
  { departure: place('OLD'), destination: place('ONE', { city: 'Edited' }) },
]

const pairsOf = (list: readonly Route[]) => list.map((r) => `${r.departure.id}-${r.destination.id}`)

/** The state of a naive model after the second list was accepted `seen` times. */
function model(seen: number): { live: Set<string>; kinds: string[] } {
  const before = pairsOf(BEFORE)
  const after = pairsOf(AFTER)
  const live = new Set([...(seen < 2 ? before : []), ...(seen > 0 ? after : [])])
  const kinds = ['route_added', 'place_changed', 'route_removed']
  return { live, kinds: kinds.slice(0, [0, 1, 3][Math.min(seen, 2)]) }
}

/** The differences between the database and the model. */
async function differences(db: Db, seen: number): Promise<string[]> {
  const { live, kinds } = model(seen)
  const held = new Set(await livePairs(db))
  const heldKinds = (await changes(db)).map((change) => change.kind)
  return [
    ...[...live.difference(held)].map((pair) => `${pair} is missing`),
    ...[...held.difference(live)].map((pair) => `${pair} is too much`),
    ...(heldKinds.join() === kinds.join() ? [] : [`the changes are ${heldKinds.join()}`]),
  ]
}

interface CrashPoint {
  readonly point: string
  /** Blocks the worker; the returned function unblocks it. */
  readonly block: (url: string) => Promise<() => Promise<void>>
  /** Resolves once the worker has reached the point. */
  readonly reach: (db: Db, url: string, release: () => Promise<void>) => Promise<void>
  /** How often the second list was accepted at the moment of the crash. */
  readonly committed: number
}

const worker = (text: string, waits = true) => ({ role: 'worker', text, waits })

const POINTS: readonly CrashPoint[] = [
  {
    point: 'before staging ends',
    block: async () => async () => undefined,
    reach: (db) => untilStatement(db, worker('insert into "staged_route"', false)),
    committed: 0,
  },
  {
    point: 'after staging',
    block: (url) => blockTable(url, 'farewatch_private.route_version', 'access exclusive'),
    reach: (db) => untilStatement(db, worker('snapshot_difference')),
    committed: 0,
  },
  {
    point: 'in the middle of apply',
    block: (url) => blockTable(url, 'farewatch_private.place_version', 'share'),
    reach: (db) => untilStatement(db, worker('place_version')),
    committed: 0,
  },
  {
    point: 'after the commit, before the job ends',
    block: (url) => blockTable(url, 'farewatch_private.place_version', 'share'),
    reach: async (db, url, release) => {
      await untilStatement(db, worker('place_version'))
      // From here on the queue cannot record that the job has ended.
      await blockTable(url, 'farewatch_queue.job', 'share')
      await release()
      await until('the commit', async () => (await changes(db)).length > 0)
    },
    committed: 1,
  },
]

describe('killing a worker', () => {
  it.for(POINTS)(
    // Fault: A process is killed while it applies a list. Nothing of the list is visible. The list is free, and the next run
    // applies it whole.
    'a kill $point leaves the state of the naive model and the list unlocked',
    { timeout: 60_000 },
    async (crash, { db, databaseUrl }) => {
      await sync(db, BEFORE)
      await makeListsDue(db)
      await sql`analyze`.execute(db)
      const upstream = await startListServer()
      onTestFinished(() => upstream.close())
      upstream.serve({ routes: AFTER })

      const release = await crash.block(databaseUrl)
      const killed = startInTest(['worker'], {
        DATABASE_URL: databaseUrl,
        UPSTREAM_BASE_URL: upstream.url,
        ADMIN_PORT: '0',
      })
      await crash.reach(db, databaseUrl, release)
      killed.child.kill('SIGKILL')
      expect(await killed.ended).toBe('SIGKILL')
      await until(
        'its sessions have ended',
        async () => (await sessionsOf(db, 'worker')).length === 0,
      )
      await release()

      expect(await differences(db, crash.committed)).toEqual([])

      const next = await sync(db, AFTER)
      expect(next).toMatchObject({ status: 'applied' })
      expect(await differences(db, crash.committed + 1)).toEqual([])
    },
  )
})
