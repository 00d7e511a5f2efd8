import { onTestFinished } from 'vitest'
import { type Db, openDatabase, sql } from '../../src/platform/db/database.ts'
import { silentLog } from './silent-log.ts'

export interface ClockedDatabase {
  readonly db: Db
  setClock(at: Date): Promise<void>
}

/** Connects to a database whose clock the test sets: the product's own statements run, and a year takes seconds. */
export async function openWithSetClock(databaseUrl: string, at: Date): Promise<ClockedDatabase> {
  await createClock(databaseUrl, at)
  const database = openDatabase({ url: databaseUrl, applicationName: 'test', log: silentLog })
  onTestFinished(() => database.close())
  database.pool.on('connect', (client) => {
    // The catalog comes last, so that the clock of the test hides that of the server.
    void client.query(
      'set search_path = set_clock, farewatch_private, pg_catalog; set synchronous_commit = off',
    )
  })
  const { db } = database
  return {
    db,
    setClock: async (instant) =>
      void (await sql`update set_clock.instant set at = ${instant}`.execute(db)),
  }
}

async function createClock(databaseUrl: string, at: Date): Promise<void> {
  const database = openDatabase({ url: databaseUrl, applicationName: 'test', log: silentLog })
  const { db } = database
  await sql`create schema set_clock`.execute(db)
  await sql`create table set_clock.instant (at timestamptz not null)`.execute(db)
  await sql`insert into set_clock.instant values (${at})`.execute(db)
  await sql`
    create function set_clock.clock_timestamp() returns timestamptz language sql volatile as
      'select at from set_clock.instant'
  `.execute(db)
  await sql`
    do $$
    declare c record;
    begin
      for c in select d.adrelid::regclass as t, a.attname as name
                 from pg_attrdef d
                 join pg_attribute a on a.attrelid = d.adrelid and a.attnum = d.adnum
                where pg_get_expr(d.adbin, d.adrelid) = 'clock_timestamp()' loop
        execute format('alter table %s alter column %I set default set_clock.clock_timestamp()', c.t, c.name);
      end loop;
    end $$
  `.execute(db)
  await database.close()
}
