import { describe, expect, onTestFinished } from 'vitest'
import { type Db, sql } from '../../src/db/database.ts'
import { createMetrics } from '../../src/metrics.ts'
import { GUARD_LIMITS } from '../../src/route-sync/guard.ts'
import { syncListJob } from '../../src/route-sync/sync-list-job.ts'
import type { Route } from '../../src/upstream/route-list.ts'
import { startFarewatch } from '../support/child-process.ts'
import { startListServer } from '../support/list-server.ts'
import { silentLog } from '../support/silent-log.ts'
import { it } from '../support/test-database.ts'
import { until } from '../support/until.ts'
import {
  changes,
  livePairs,
  manyRoutes,
  place,
  route,
  routes,
  sync,
  upstreamOf,
} from './sync-fixtures.ts'

const BEFORE = [...manyRoutes(60_000), ...routes('OLD-ONE')]
/** One gone, one new, one place edited. */
const AFTER = [
  ...manyRoutes(60_000).slice(1),
  ...routes('NEW-ONE'),
  { departure: place('OLD'), destination: place('ONE', { city: 'Edited' }) },
]

/** What a naive reader of both lists would hold after `seen` accepted sightings of the second one. */
function model(seen: number): { live: string[]; kinds: string[] } {
  const pairs = (list: readonly Route[]) => list.map((r) => `${r.departure.id}-${r.destination.id}`)
  const after = pairs(AFTER)
  const listed = new Set(after)
  const missing = pairs(BEFORE).filter((pair) => !listed.has(pair))
  const live = seen === 0 ? pairs(BEFORE) : seen === 1 ? [...after, ...missing] : after
  const first = ['place_changed', 'route_added']
  const kinds = [[], first, [...first, 'route_removed']][Math.min(seen, 2)] ?? []
  return { live: live.sort(), kinds }
}

async function heldState(db: Db): Promise<{ live: string[]; kinds: string[] }> {
  const live = (await livePairs(db)).sort()
  return { live, kinds: (await changes(db)).map((change) => change.kind) }
}

/** What other sessions of this database are at: their statement, and whether they wait for a lock. */
async function sessions(db: Db): Promise<{ statement: string; waits: boolean }[]> {
  const { rows } = await sql<{ statement: string; waits: boolean }>`
    select query as statement, wait_event_type = 'Lock' as waits
      from pg_stat_activity
     where datname = current_database() and application_name like 'farewatch worker%' and pid <> pg_backend_pid()
  `.execute(db)
  return rows
}

/** Blocks writers (and readers, where asked) of a table until released. */
async function blockTable(db: Db, table: string, mode: 'share' | 'access exclusive') {
  const tx = await db.startTransaction().execute()
  await sql`lock table ${sql.table(table)} in ${sql.raw(mode)} mode`.execute(tx)
  return async () => {
    await tx.rollback().execute()
  }
}

interface CrashPoint {
  readonly point: string
  readonly block: (db: Db) => Promise<() => Promise<void>>
  readonly reached: (db: Db) => Promise<boolean>
  /** Accepted sightings of the second list at the moment of the crash. */
  readonly committed: number
}

const waitsAt = (text: string) => async (db: Db) =>
  (await sessions(db)).some(({ statement, waits }) => waits && statement.includes(text))

const POINTS: readonly CrashPoint[] = [
  {
    point: 'before staging ends',
    block: async () => async () => undefined,
    reached: async (db) =>
      (await sessions(db)).some(({ statement }) => statement.includes('insert into staged_route')),
    committed: 0,
  },
  {
    point: 'after staging',
    block: (db) => blockTable(db, 'route_version', 'access exclusive'),
    reached: waitsAt('snapshot_added'),
    committed: 0,
  },
  {
    point: 'in the middle of apply',
    block: (db) => blockTable(db, 'place_version', 'share'),
    reached: waitsAt('place_version'),
    committed: 0,
  },
  {
    point: 'after the commit, before the job ends',
    block: (db) => blockTable(db, 'farewatch_queue.job', 'share'),
    reached: async (db) => (await changes(db)).length > 0,
    committed: 1,
  },
]

describe('a worker that is killed', () => {
  it.for(POINTS)(
    '$point leaves the state of the naive model, and the list free',
    async (crash, { db, databaseUrl }) => {
      await sync(db, BEFORE)
      await sql`analyze`.execute(db)
      const upstream = await startListServer()
      onTestFinished(() => upstream.close())
      upstream.serve({ routes: AFTER })

      const release = await crash.block(db)
      const worker = startFarewatch(['worker'], {
        DATABASE_URL: databaseUrl,
        UPSTREAM_BASE_URL: upstream.url,
        ADMIN_PORT: '0',
      })
      onTestFinished(() => void worker.child.kill('SIGKILL'))
      await until(`a worker ${crash.point}`, () => crash.reached(db))
      worker.child.kill('SIGKILL')
      expect(await worker.ended).toBe('SIGKILL')
      await until('its sessions gone', async () => (await sessions(db)).length === 0)
      await release()

      expect(await heldState(db)).toEqual(model(crash.committed))

      const next = await sync(db, AFTER)
      expect(next).toMatchObject({ status: 'applied' })
      expect(await heldState(db)).toEqual(model(crash.committed + 1))
    },
    60_000,
  )
})

describe('a sync job that is carried out again after its commit', () => {
  it('changes nothing: its slot has had its run', async ({ db }) => {
    await sync(db, routes('PMI-MAD', 'PMI-BCN'))
    const deps = {
      db,
      upstream: upstreamOf(JSON.stringify([route('PMI-BCN')])),
      confirmations: 2,
      guard: GUARD_LIMITS,
      metrics: createMetrics(),
      log: silentLog,
    }
    const job = { list: 'routes', slot: 'sync-routes@1' } as const
    const signal = new AbortController().signal

    await syncListJob(deps, job, signal)
    await syncListJob(deps, job, signal)
    expect(await livePairs(db)).toEqual(['PMI-BCN', 'PMI-MAD'])

    await syncListJob(deps, { ...job, slot: 'sync-routes@2' }, signal)
    expect(await livePairs(db)).toEqual(['PMI-BCN'])
  })
})
