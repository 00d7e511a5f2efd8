import { type Database, PRIVATE_SCHEMA, sql, type Tx } from '../platform/db/database.ts'
import { inTransaction, selectOne } from '../platform/db/transaction.ts'

const SCHEMA = 'simulated'
const CLOCKS = ['clock_timestamp', 'now', 'statement_timestamp', 'transaction_timestamp']

/** The clock of a database with one connection, until that ends. */
export interface SimulatedClock {
  now(): Date
  /** Sets it to a later instant, and keeps how far the history of the demo is: it goes on there after a crash. */
  set(atMs: number): Promise<void>
}

/**
 * Replaces the clock of a database that has one connection: functions with the names of PostgreSQL's hide them there, and
 * the defaults of columns call them. Elsewhere, and before the clock is set, they are the real clock.
 */
export async function simulateClock({ db, pool }: Database): Promise<SimulatedClock> {
  // What a crash of the server loses is made up again.
  const session = `set search_path = ${PRIVATE_SCHEMA}, ${SCHEMA}, pg_catalog; set synchronous_commit = off`
  pool.on('connect', (client) => void client.query(session))
  await inTransaction(db, async (tx) => {
    await sql`create schema if not exists ${sql.id(SCHEMA)}`.execute(tx)
    for (const name of CLOCKS) {
      await sql`
        create or replace function ${sql.id(SCHEMA, name)}() returns timestamptz language sql stable
          return coalesce(nullif(current_setting('simulated.now', true), '')::timestamptz, pg_catalog.clock_timestamp())
      `.execute(tx)
    }
    await bindDefaults(tx, SCHEMA)
  })
  let now = new Date(0)
  return {
    now: () => now,
    set: async (atMs) => {
      now = new Date(Math.max(atMs, now.getTime()))
      await sql`
        update demo set history_until = ${now} returning set_config('simulated.now', ${now.toISOString()}, false)
      `.execute(db)
    },
  }
}

/** Gives the columns PostgreSQL's clock again, and removes the simulated one. */
export async function removeSimulatedClock(tx: Tx): Promise<void> {
  await bindDefaults(tx, 'pg_catalog')
  for (const name of CLOCKS) await sql`drop function ${sql.id(SCHEMA, name)}()`.execute(tx)
  await sql`drop schema ${sql.id(SCHEMA)}`.execute(tx)
}

/** Whether `removeSimulatedClock` is missing. */
export async function hasSimulatedClock(db: Database['db']): Promise<boolean> {
  const { has } = await selectOne(
    sql<{ has: boolean }>`select to_regnamespace(${SCHEMA}) is not null as has`,
    db,
  )
  return has
}

async function bindDefaults(tx: Tx, schema: string): Promise<void> {
  const { rows } = await sql<{ table: string; column: string; clock: string }>`
    select c.relname as table, a.attname as column, m.clock[1] as clock
      from pg_attrdef d
      join pg_class c on c.oid = d.adrelid and c.relnamespace = ${PRIVATE_SCHEMA}::regnamespace
      join pg_attribute a on a.attrelid = d.adrelid and a.attnum = d.adnum
     cross join lateral (select regexp_match(pg_get_expr(d.adbin, d.adrelid), '^(?:[a-z_]+[.])?([a-z_]+)[(][)]$') as clock) m
     where m.clock[1] = any(${CLOCKS})
  `.execute(tx)
  for (const { table, column, clock } of rows) {
    await sql`
      alter table ${sql.id(PRIVATE_SCHEMA, table)} alter column ${sql.id(column)}
        set default ${sql.id(schema, clock)}()
    `.execute(tx)
  }
}
