import pg from 'pg'
import { ROUTE_LISTS, type RouteListName } from '../../src/platform/base/kinds.ts'
import { type Db, sql } from '../../src/platform/db/database.ts'
import { notify } from '../../src/platform/db/listener.ts'
import { addressesOf, type RunningCommand } from '../support/child-process.ts'
import { cells, importRows, newReseller } from '../watches/watch-fixtures.ts'
import { eventually } from './eventually.ts'
import type { World } from './world.ts'

export async function metricsOf(command: RunningCommand): Promise<string> {
  return (await fetch((await addressesOf(command)).metrics)).text()
}

/** Makes two resellers watch these flights. */
export async function watch({ db }: World, flightIds: readonly string[]): Promise<void> {
  for (const name of ['ana', 'ben']) {
    const { rows } = await sql<{
      id: number
    }>`select id from reseller where name = ${name}`.execute(db)
    const resellerId = rows[0]?.id ?? (await newReseller(db, name))
    const entries = flightIds.map((id) => cells({ reference: `R${id}`, flight_id: id }))
    await importRows(db, resellerId, entries)
  }
}

/** Makes the routes list due: its runs began before its last due time. */
export async function makeListDue({ db }: World): Promise<void> {
  await makeListsDue(db, ['routes'])
}

export async function makeListsDue(
  db: Db,
  lists: readonly RouteListName[] = ROUTE_LISTS,
): Promise<void> {
  await sql`
    update sync_run set started_at = started_at - interval '2 years' where list = any(${lists}::text[])
  `.execute(db)
  await sql`select ${notify('schedule')}`.execute(db)
}

/**
 * Kills a process and releases the lock that blocked it. If no other process runs, waits until PostgreSQL has ended the
 * sessions of the killed one: a session that waits for a lock does not notice that its client has gone.
 */
export async function kill(
  { db, running }: World,
  command: RunningCommand,
  release?: () => Promise<void>,
): Promise<void> {
  command.child.kill('SIGKILL')
  await command.ended
  await release?.()
  if (running().length > 0) return
  await eventually('the end of its sessions', async () => (await sessionsOf(db)).length === 0)
}

export interface Session {
  readonly statement: string
  readonly waits: boolean
}

/** The statements that farewatch runs in this database. The queue client is left out because the test has one too. */
export async function sessionsOf(db: Db): Promise<Session[]> {
  const { rows } = await sql<Session>`
    select query as statement, coalesce(wait_event_type = 'Lock', false) as waits
      from pg_stat_activity
     where datname = current_database() and application_name not in ('test', 'farewatch queue')
       and backend_type = 'client backend'
  `.execute(db)
  return rows
}

/** Waits until a lock blocks a statement that contains this text. */
export async function untilBlockedAt({ db }: World, text: string): Promise<void> {
  await eventually(`a process that waits at ${text}`, async () =>
    (await sessionsOf(db)).some(({ statement, waits }) => waits && statement.includes(text)),
  )
}

/** Locks a table against writers, or against readers too, until the returned function is called. */
export async function blockTable(
  { databaseUrl }: World,
  table: string,
  mode: 'share' | 'access exclusive' = 'share',
): Promise<() => Promise<void>> {
  const client = new pg.Client({ connectionString: databaseUrl })
  client.on('error', () => undefined)
  await client.connect()
  await client.query(`begin; lock table ${table} in ${mode} mode`)
  return () => client.end()
}

export interface FareRow {
  readonly flightId: string
  readonly pair: string
  readonly checks: number
  readonly kinds: readonly string[]
  /** How many feed records the resellers received about this fare. */
  readonly feedRecords: number
}

/** The expected row of a fare that is bookable since its first check, with one `watch_started` for each reseller. */
export function bookable(flightId: string, checks = 1): FareRow {
  return { flightId, pair: 'bookable', checks, kinds: ['first_seen'], feedRecords: 2 }
}

/** The fares of these flights, ordered by flight id. */
export async function faresOf({ db }: World, flightIds: readonly string[]): Promise<FareRow[]> {
  const { rows } = await sql<FareRow>`
    select f.flight_id as "flightId", s.pair, s.checks,
           coalesce((select jsonb_agg(c.kind order by c.seq) from availability_change c
                      where c.tracked_fare_id = f.id), '[]') as kinds,
           (select count(*) from watch_change c join watch w on w.id = c.watch_id
             where w.tracked_fare_id = f.id) as "feedRecords"
      from tracked_fare f
      join fare_state s on s.tracked_fare_id = f.id
     where f.flight_id = any(${flightIds}::text[])
     order by f.flight_id
  `.execute(db)
  return rows
}

export async function checksOf(world: World, flightIds: readonly string[]): Promise<number> {
  return (await faresOf(world, flightIds)).reduce((sum, { checks }) => sum + checks, 0)
}

/** The outcomes of the runs of the routes list, in order. */
export async function runsOf({ db }: World): Promise<(string | null)[]> {
  const { rows } = await sql<{ status: string | null }>`
    select status from sync_run where list = 'routes' order by id
  `.execute(db)
  return rows.map(({ status }) => status)
}
