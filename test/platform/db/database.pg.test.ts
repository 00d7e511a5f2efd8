import { describe, expect, onTestFinished } from 'vitest'
import { type Database, openDatabase, PREPARED, sql } from '../../../src/platform/db/database.ts'
import { isDatabaseUnavailable } from '../../../src/platform/db/database-health.ts'
import { selectOne } from '../../../src/platform/db/transaction.ts'
import { collectLog } from '../../support/collected-log.ts'
import { silentLog } from '../../support/silent-log.ts'
import { it } from '../../support/test-database.ts'
import { until } from '../../support/until.ts'
import { openAnother } from './empty-database.ts'
import { backendOf, terminate, untilRunning } from './sessions.ts'

describe('the database', () => {
  it('returns counts as numbers, money as text, instants as dates and JSON as values', async ({
    db,
  }) => {
    const row = await selectOne(
      sql`select 9007199254740991::int8 as count, 12.10::numeric as money, true as yes, null as nothing,
                 timestamptz '2026-01-31 12:00+02' as instant, '{"a": [1]}'::jsonb as json`,
      db,
    )

    expect(row).toEqual({
      count: 9007199254740991,
      money: '12.10',
      yes: true,
      nothing: null,
      instant: new Date('2026-01-31T10:00:00Z'),
      json: { a: [1] },
    })
  })

  it('prepares a statement that says so once for each connection', async ({ db }) => {
    await db.connection().execute(async (session) => {
      const sum = (a: number) => sql<{ sum: number }>`${PREPARED} select ${a}::int + 1 as sum`
      expect(await selectOne(sum(1), session)).toEqual({ sum: 2 })
      expect(await selectOne(sum(2), session)).toEqual({ sum: 3 })

      const atEnd = session.selectFrom('schedule_facts').select('pass').modifyEnd(PREPARED)
      await atEnd.execute()
      await atEnd.execute()

      const { rows } = await sql`
        select calls from (select generic_plans + custom_plans as calls, statement from pg_prepared_statements) p
         where statement like '%::int + 1 as sum' or statement like 'select "pass" from "schedule_facts"%'
      `.execute(session)
      expect(rows).toEqual([{ calls: 2 }, { calls: 2 }])
    })
  })

  it('uses the private schema and UTC, and names its application', async ({ db }) => {
    const facts = sql`
      select current_setting('search_path') as path, current_setting('timezone') as zone,
             current_setting('application_name') as name, current_setting('statement_timeout') as timeout
    `

    expect(await selectOne(facts, db)).toEqual({
      path: 'farewatch_private',
      zone: 'UTC',
      name: 'test',
      timeout: '1min',
    })
  })

  it('does so too when the URL has options of its own', async ({ databaseUrl }) => {
    const url = new URL(databaseUrl)
    url.searchParams.set('options', '-c work_mem=5MB -c search_path=public')
    const { db } = openAnother(url.href)
    const facts = sql`
      select current_setting('search_path') as path, current_setting('work_mem') as memory
    `

    expect(await selectOne(facts, db)).toEqual({ path: 'farewatch_private', memory: '5MB' })
  })

  it('cancels a statement that exceeds its timeout', async ({ databaseUrl: url }) => {
    const impatient = openDatabase({
      url,
      applicationName: 'test',
      log: silentLog,
      statementTimeoutMs: 50,
    })
    onTestFinished(() => impatient.close())

    const slow = sql`select pg_sleep(60)`.execute(impatient.db)

    await expect(slow).rejects.toMatchObject({ code: '57014' })
  })
})

describe('a database that is closed', () => {
  it('leaves no session, even if only its pool was used', async ({ db, databaseUrl: url }) => {
    const used = openDatabase({ url, applicationName: 'only its pool', log: silentLog })
    await used.pool.query('select 1')

    await used.close()

    for (const late of [sql`select 1`.execute(used.db), used.pool.query('select 1')]) {
      expect(await late.catch(isDatabaseUnavailable)).toBe(true)
    }
    const sessions = sql<{ n: number }>`
      select count(*) as n from pg_stat_activity
       where datname = current_database() and application_name = 'only its pool'`
    expect(await selectOne(sessions, db)).toEqual({ n: 0 })
  })
})

describe('a database that is closed while a statement runs', () => {
  it('closes, and the server ends the statement', async ({ db: other, databaseUrl: url }) => {
    const { db, close } = openDatabase({ url, applicationName: 'test', log: silentLog })
    const pid = Promise.withResolvers<number>()
    const work = db.connection().execute(async (session) => {
      pid.resolve(await backendOf(session))
      await sql`select pg_sleep(60)`.execute(session)
    })
    const failed = work.catch(isDatabaseUnavailable)
    await untilRunning(other, await pid.promise, 'pg_sleep')

    await close()

    expect(await failed).toBe(true)
    await until('the server has ended the session', async () => {
      const sessions = sql<{ n: number }>`
        select count(*) as n from pg_stat_activity where pid = ${await pid.promise}`
      return (await selectOne(sessions, other)).n === 0
    })
  })
})

describe('a connection that is lost', () => {
  /** A pool of one connection, and its log lines. */
  function openPool(url: string): Database & { readonly lines: string[] } {
    const { log, lines } = collectLog()
    const pool = openDatabase({ url, applicationName: 'test', log, maxConnections: 1 })
    onTestFinished(() => pool.close())
    return { ...pool, lines }
  }

  it('while a query runs fails that query, not the process, and is replaced', async ({
    db: other,
    databaseUrl,
  }) => {
    const { db, lines } = openPool(databaseUrl)
    const pid = await backendOf(db)

    const cut = expect(sql`select pg_sleep(60)`.execute(db)).rejects.toMatchObject({
      code: '57P01',
    })
    await untilRunning(other, pid, 'pg_sleep')
    await terminate(other, pid)

    await cut
    const replaced = await until('a new connection', () => backendOf(db).catch(() => undefined))
    expect(replaced).not.toBe(pid)
    expect(lines.join('')).toMatch(/"level":"warn".*connection lost/)
  })

  it('while it is checked out and unused fails the next query on it', async ({
    db: other,
    databaseUrl,
  }) => {
    const { db, lines } = openPool(databaseUrl)

    await db.connection().execute(async (session) => {
      await terminate(other, await backendOf(session))
      await until('the loss is noticed', () => lines.length > 0)
      await expect(backendOf(session)).rejects.toThrow()
    })

    expect(await backendOf(db)).toBeGreaterThan(0)
  })

  it('while it is idle causes only a warning', async ({ db: other, databaseUrl }) => {
    const { db, lines } = openPool(databaseUrl)
    const pid = await backendOf(db)

    await terminate(other, pid)
    await until('the loss is noticed', () => lines.length > 0)

    expect(lines.join('')).toMatch(/"level":"warn".*connection lost/)
    expect(await backendOf(db)).not.toBe(pid)
  })
})
