import pg from 'pg'
import { type Db, sql } from '../../src/db/database.ts'
import type { RunningCommand } from '../support/child-process.ts'
import { cells, importRows, newReseller } from '../watch/watch-fixtures.ts'
import { eventually } from './eventually.ts'
import type { World } from './world.ts'

interface Ready {
  readonly api?: string
  readonly health: string
  readonly metrics: string
}

/** On a machine that does much else. */
const START_MS = 120_000

/** Waits until the process has said that it is ready, and gives its addresses. */
export async function addressesOf(command: RunningCommand): Promise<Ready> {
  const line = await eventually(
    'a process that is ready',
    () => {
      if (command.child.exitCode !== null) {
        throw new Error(`the process ended: ${command.stdout()}${command.stderr()}`)
      }
      return command
        .stdout()
        .split('\n')
        .find((text) => text.includes('"msg":"ready"'))
    },
    START_MS,
  )
  return JSON.parse(line) as Ready
}

export async function metricsOf(command: RunningCommand): Promise<string> {
  return (await fetch((await addressesOf(command)).metrics)).text()
}

/** Two resellers who watch these flights from now on. */
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

/** The next look at the schedules finds the list due. */
export async function makeListDue({ db }: World): Promise<void> {
  await sql`update schedule set next_due_at = now() where name = 'sync-routes'`.execute(db)
}

/**
 * Kills a process where it stands, lets go of what held it there, and, where it was the last one, waits until the
 * database has noticed: it does not while it waits for a lock.
 */
export async function kill(
  { db, living }: World,
  command: RunningCommand,
  letGo?: () => Promise<void>,
): Promise<void> {
  command.child.kill('SIGKILL')
  await command.ended
  await letGo?.()
  if (living().length > 0) return
  await eventually('its sessions gone', async () => (await sessionsOf(db)).length === 0)
}

export interface Session {
  readonly statement: string
  readonly waits: boolean
}

/** What farewatch's processes are at in this database; the queue's client is the test's too. */
export async function sessionsOf(db: Db): Promise<Session[]> {
  const { rows } = await sql<Session>`
    select query as statement, coalesce(wait_event_type = 'Lock', false) as waits
      from pg_stat_activity
     where datname = current_database() and application_name not in ('test', 'farewatch queue')
       and backend_type = 'client backend'
  `.execute(db)
  return rows
}

/** Waits until a process is stopped by a lock at a statement with this text. */
export async function untilBlockedAt({ db }: World, text: string): Promise<void> {
  await eventually(`a process that waits at ${text}`, async () =>
    (await sessionsOf(db)).some(({ statement, waits }) => waits && statement.includes(text)),
  )
}

/** Keeps writers, or everybody, out of a table until what it returns is called. */
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
  /** How many records of it the resellers got. */
  readonly told: number
}

/** What is held of a flight that can be had, and was said so by its last check. */
export function sold(flightId: string, checks = 1): FareRow {
  return { flightId, pair: 'bookable', checks, kinds: ['became_available'], told: 2 }
}

/** What is held of these flights, in order. */
export async function faresOf({ db }: World, flightIds: readonly string[]): Promise<FareRow[]> {
  const { rows } = await sql<FareRow>`
    select f.flight_id as "flightId", s.pair, s.checks,
           coalesce((select jsonb_agg(c.kind order by c.seq) from availability_change c
                      where c.tracked_fare_id = f.id), '[]') as kinds,
           (select count(*) from watch_change w join availability_change c on c.id = w.change_id
             where c.tracked_fare_id = f.id) as told
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

/** What the runs of the routes list came to, in order. */
export async function runsOf({ db }: World): Promise<(string | null)[]> {
  const { rows } = await sql<{ status: string | null }>`
    select status from sync_run where list = 'routes' order by id
  `.execute(db)
  return rows.map(({ status }) => status)
}
