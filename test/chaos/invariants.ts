import { expect } from 'vitest'
import { ROUTE_LISTS } from '../../src/platform/base/kinds.ts'
import { type Db, sql } from '../../src/platform/db/database.ts'
import { listLock } from '../../src/routes/runs.ts'
import { until } from '../support/until.ts'
import { brokenFeeds, brokenHistory } from './records.ts'
import { routesUnlikeTheirList } from './routes-and-list.ts'
import { QUEUES, type World } from './world.ts'

export interface Expected {
  /** Errors that dead jobs may have. If unset, there may be no dead jobs. */
  readonly failures?: readonly RegExp[]
  /** How long claims, runs and locks may remain after the fault. Default: 30 s. */
  readonly withinMs?: number
}

/**
 * The connections of one process: a pool of 10 and one for the gauges. A queue on PostgreSQL adds its client
 * (2) and three workers (2 and a LISTEN each).
 */
const MOST_CONNECTIONS = { postgres: 22, redis: 11 }
/** The Redis connections of one process: a client, and two for each of three workers. */
const MOST_CLIENTS = 7
/** The connections of the test: its queue, and the client that counts. */
const OWN = { connections: 2, clients: 3 }

/**
 * Checks the invariants that hold after every fault: the live routes are the last accepted list, history replays to the
 * present, feeds have no gap and no duplicate, and no claim, run, transaction, lock or connection is left open.
 */
export async function expectInvariants(world: World, expected: Expected = {}): Promise<void> {
  const { db } = world
  expect(await routesUnlikeTheirList(db)).toEqual([])
  expect(await brokenHistory(db)).toEqual([])
  expect(await brokenFeeds(db)).toEqual([])
  expect(await unwantedFailures(world, expected.failures ?? [])).toEqual([])
  await untilCleared(world, expected.withinMs ?? 30_000)
}

/** Waits until nothing is left open. On a timeout the test fails with the list of what is. */
async function untilCleared(world: World, withinMs: number): Promise<void> {
  let left: unknown[] = []
  await until(
    'nothing left over',
    async () => {
      left = [...(await leftovers(world.db)), ...(await leakedConnections(world))]
      return left.length === 0
    },
    withinMs,
  ).catch(() => expect(left).toEqual([]))
}

/** Claims, runs, transactions and locks that are still open. A process that works has transactions for a moment. */
async function leftovers(db: Db): Promise<unknown[]> {
  const { rows } = await sql`
    select 'a claim' as what, claim_id::text as of from fare_schedule where claim_id is not null
    union all
    select 'an open run', list from sync_run where status is null
    union all
    select 'an open transaction', application_name || ': ' || query from pg_stat_activity
     where datname = current_database() and state like 'idle in transaction%'
       and state_change < now() - interval '1 s'
    union all
    select 'a wait for a lock', application_name || ': ' || query from pg_stat_activity
     where datname = current_database() and wait_event_type = 'Lock'
    union all
    select 'the lock of a list', a.application_name || ': ' || l.objid
      from pg_locks l join pg_stat_activity a on a.pid = l.pid
     where l.locktype = 'advisory' and a.datname = current_database()
       and l.objid = any(array(select hashtext(name)::oid from unnest(${ROUTE_LISTS.map(listLock)}::text[]) name))
  `.execute(db)
  return rows
}

async function leakedConnections({ db, backend, redis, running }: World): Promise<unknown[]> {
  const { rows } = await sql<{ count: number }>`
    select count(*) as count from pg_stat_activity
     where datname = current_database() and application_name <> 'test' and backend_type = 'client backend'
  `.execute(db)
  const connections = rows[0]?.count ?? 0
  const clients =
    redis === undefined ? 0 : String(await redis.command('CLIENT', 'LIST')).split('\n').length
  const leaks = []
  if (connections > running().length * MOST_CONNECTIONS[backend] + OWN.connections)
    leaks.push({ connections })
  if (clients > running().length * MOST_CLIENTS + OWN.clients) leaks.push({ clients })
  return leaks
}

async function unwantedFailures({ queue }: World, wanted: readonly RegExp[]): Promise<string[]> {
  const failed = await Promise.all(QUEUES.map((name) => queue.jobs(name, 'dead', 1_000)))
  return failed
    .flatMap((jobs, i) => jobs.map(({ failure }) => `${QUEUES[i]}: ${failure}`))
    .filter((text) => !wanted.some((pattern) => pattern.test(text)))
}
