import { describe, expect, inject, onTestFinished } from 'vitest'
import { type Database, openDatabase, sql } from '../../../src/platform/db/database.ts'
import {
  assertWritable,
  DatabaseUnreachableError,
  isDatabaseUnavailable,
  pingDatabase,
  probeDatabase,
} from '../../../src/platform/db/database-health.ts'
import { selectOne } from '../../../src/platform/db/transaction.ts'
import { collectLog } from '../../support/collected-log.ts'
import { adminQuery } from '../../support/postgres-server.ts'
import { freePort } from '../../support/redis-tier.ts'
import { silentLog } from '../../support/silent-log.ts'
import { it } from '../../support/test-database.ts'
import { until } from '../../support/until.ts'
import { openAnother } from './empty-database.ts'
import { startOlderServer, startPooler } from './pooler.ts'
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
})

const CANARY = 'canary-password'

/** The error of a probe of this address. */
async function refusalOf(url: string): Promise<Error> {
  const error = await probeDatabase(openAnother(url), url).then(
    () => new Error('nothing was wrong'),
    (err: unknown) => err as Error,
  )
  expect(error).toBeInstanceOf(DatabaseUnreachableError)
  expect(error).toMatchObject({ code: 'db.unreachable', retryable: true })
  expect(`${error.message}${error.stack}`).not.toContain(CANARY)
  return error
}

function given(changes: { user?: string; database?: string }): string {
  const url = new URL(inject('postgresUrl'))
  url.password = CANARY
  if (changes.user !== undefined) url.username = changes.user
  if (changes.database !== undefined) url.pathname = `/${changes.database}`
  return url.href
}

describe('a database that answers', () => {
  it('is read as it is meant, whatever its defaults are', async ({ databaseUrl }) => {
    const name = new URL(databaseUrl).pathname.slice(1)
    const defaults = {
      datestyle: 'German',
      intervalstyle: 'sql_standard',
      bytea_output: 'escape',
      extra_float_digits: '-15',
      standard_conforming_strings: 'off',
    }
    for (const [setting, value] of Object.entries(defaults)) {
      await adminQuery(databaseUrl, `alter database ${name} set ${setting} to ${value}`)
    }

    const { pool } = openAnother(databaseUrl)
    const { rows } = await pool.query(String.raw`
      select '2026-11-27T10:00Z'::timestamptz as at, '\001'::bytea as bytes, 0.1::float8 + 0.2 as sum,
             interval '1 day 2 hours' as span, 'a\b' as text
    `)
    expect(rows).toMatchObject([
      {
        at: new Date('2026-11-27T10:00Z'),
        bytes: Buffer.from([1]),
        sum: 0.1 + 0.2,
        span: { days: 1, hours: 2 },
        text: String.raw`a\b`,
      },
    ])
  })
})

describe('a database that takes no writes', () => {
  it('is no store that answers, and is an outage', async ({ databaseUrl }) => {
    const name = new URL(databaseUrl).pathname.slice(1)
    await pingDatabase(databaseUrl, 5_000)
    await adminQuery(databaseUrl, `alter database ${name} set default_transaction_read_only = on`)

    const refused = await pingDatabase(databaseUrl, 5_000).catch((err: unknown) => err)
    expect(refused).toMatchObject({ code: 'db.read_only' })
    expect(isDatabaseUnavailable(refused)).toBe(true)
    const { db } = openAnother(databaseUrl)
    await expect(assertWritable(db)).rejects.toThrow('takes no writes now')
    const written = await sql`create table t ()`.execute(db).catch((err: unknown) => err)
    expect(isDatabaseUnavailable(written)).toBe(true)
  })
})

describe('an older PostgreSQL', () => {
  it('is refused with its version', async ({ databaseUrl }) => {
    const url = await startOlderServer(databaseUrl, '17')

    await expect(probeDatabase(openAnother(url), url)).rejects.toThrow(
      /^the database is PostgreSQL 17\.\d+; farewatch needs 18 or newer$/,
    )
  })
})

describe('a pooler', () => {
  it.for([
    [
      'lends the sessions of the server to one transaction after the other',
      { mode: 'transaction' },
    ],
    ['drops the options of a session', { mode: 'session', options: 'dropped' }],
    ['refuses the options of a session', { mode: 'session', options: 'refused' }],
  ] as const)('is refused with the reason where it %s', async ([, behaviour], { databaseUrl }) => {
    const url = await startPooler(databaseUrl, behaviour)

    await expect(probeDatabase(openAnother(url), url)).rejects.toMatchObject({
      code: 'db.pooler',
      message: expect.stringContaining('use pool_mode = session'),
    })
  })

  it('is accepted where a session keeps its server', async ({ databaseUrl }) => {
    const url = await startPooler(databaseUrl, { mode: 'session' })

    expect(await probeDatabase(openAnother(url), url)).toMatch(/^18\./)
  })
})

describe('a database that cannot be used', () => {
  it.for(['127.0.0.1', 'localhost'])(
    'is named by host and port: nothing listens at %s',
    async (host) => {
      const port = await freePort()

      const { message } = await refusalOf(`postgres://user:${CANARY}@${host}:${port}/fares`)

      expect(message).toContain(
        `PostgreSQL at ${host}:${port}/fares cannot be used (connect ECONNREFUSED`,
      )
      expect(message).toContain('check DATABASE_URL and that PostgreSQL runs')
    },
  )

  it('is reported without the wrong password', async ({ skip }) => {
    const url = given({})
    const trusted = await openAnother(url)
      .pool.query('select 1')
      .then(
        () => true,
        () => false,
      )
    skip(trusted, 'this server accepts any password')

    const { message } = await refusalOf(url)

    expect(message).toContain('password authentication failed for user')
  })
})
