import { expect } from 'vitest'
import { ROUTE_LISTS } from '../../src/base/kinds.ts'
import { type Db, sql } from '../../src/db/database.ts'
import { listLock } from '../../src/route-sync/runs/run-records.ts'
import { until } from '../support/until.ts'
import { brokenFeeds, brokenHistory } from './records.ts'
import { routesUnlikeTheirList } from './routes-and-list.ts'
import { QUEUES, type World } from './world.ts'

export interface Expected {
  /** What the jobs that failed for good may have failed of: nothing unless given. */
  readonly failures?: readonly RegExp[]
  /** How long the rest that a fault left may take to be cleared away; 30 s unless given. */
  readonly withinMs?: number
}

/**
 * Of one process: the pool of ten and the session of who leads; of a queue on PostgreSQL its client of 2, and of
 * three workers 2 each and their LISTEN.
 */
const MOST_CONNECTIONS = { postgres: 22, redis: 11 }
/** Of one process: a client, and three workers of two. */
const MOST_CLIENTS = 7
/** The test's own: its queue, and who asks. */
const OWN = { connections: 2, clients: 3 }

/**
 * What must hold after every fault: live routes are the last accepted list, history replays to the present, feeds
 * have neither hole nor double, and nothing is left of what the fault interrupted.
 */
export async function expectInvariants(world: World, expected: Expected = {}): Promise<void> {
  const { db } = world
  expect(await routesUnlikeTheirList(db)).toEqual([])
  expect(await brokenHistory(db)).toEqual([])
  expect(await brokenFeeds(db)).toEqual([])
  expect(await unwantedFailures(world, expected.failures ?? [])).toEqual([])
  await untilCleared(world, expected.withinMs ?? 30_000)
}

/** Waits until nothing is left over; says what is. */
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

/** Claims, runs, transactions and locks that nobody ends. */
async function leftovers(db: Db): Promise<unknown[]> {
  const { rows } = await sql`
    select 'a claim' as what, claim_id::text as of from fare_schedule where claim_id is not null
    union all
    select 'an open run', list from sync_run where status is null
    union all
    select 'an open transaction', application_name || ': ' || query from pg_stat_activity
     where datname = current_database() and state like 'idle in transaction%'
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

async function leakedConnections({ db, backend, redis, living }: World): Promise<unknown[]> {
  const { rows } = await sql<{ count: number }>`
    select count(*) as count from pg_stat_activity
     where datname = current_database() and application_name <> 'test' and backend_type = 'client backend'
  `.execute(db)
  const connections = rows[0]?.count ?? 0
  const clients =
    redis === undefined ? 0 : String(await redis.ask('CLIENT', 'LIST')).split('\n').length
  const leaks = []
  if (connections > living().length * MOST_CONNECTIONS[backend] + OWN.connections)
    leaks.push({ connections })
  if (clients > living().length * MOST_CLIENTS + OWN.clients) leaks.push({ clients })
  return leaks
}

async function unwantedFailures({ queue }: World, wanted: readonly RegExp[]): Promise<string[]> {
  const failed = await Promise.all(QUEUES.map((name) => queue.jobs(name, 'dead', 1_000)))
  return failed
    .flatMap((jobs, i) => jobs.map(({ failure }) => `${QUEUES[i]}: ${failure}`))
    .filter((text) => !wanted.some((pattern) => pattern.test(text)))
}
