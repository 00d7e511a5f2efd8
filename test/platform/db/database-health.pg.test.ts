import { describe, expect, inject } from 'vitest'
import { sql } from '../../../src/platform/db/database.ts'
import {
  assertWritable,
  DatabaseUnreachableError,
  isDatabaseUnavailable,
  pingDatabase,
  probeDatabase,
} from '../../../src/platform/db/database-health.ts'
import { adminQuery } from '../../support/postgres-server.ts'
import { freePort } from '../../support/redis-tier.ts'
import { it } from '../../support/test-database.ts'
import { openAnother } from './empty-database.ts'
import { startOlderServer, startPooler } from './pooler.ts'

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
  it('reports its version', async ({ databaseUrl }) => {
    expect(await probeDatabase(openAnother(databaseUrl), databaseUrl)).toMatch(/^18\./)
  })

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

  it('is named with the default port when the URL has none', async () => {
    const { message } = await refusalOf(`postgres://user:${CANARY}@nowhere.invalid/fares`)

    expect(message).toContain(
      'PostgreSQL at nowhere.invalid:5432/fares cannot be used (getaddrinfo',
    )
  })

  it('is named by its socket when the URL has one', async () => {
    const { message } = await refusalOf(`postgres:///fares?host=/nowhere&password=${CANARY}`)

    expect(message).toContain('PostgreSQL at /nowhere:5432/fares cannot be used')
  })

  it('is reported with the server’s own message: no such database', async () => {
    const { message } = await refusalOf(given({ database: 'farewatch_test_nowhere' }))

    expect(message).toMatch(/\/farewatch_test_nowhere cannot be used \(.+\)/)
  })

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
