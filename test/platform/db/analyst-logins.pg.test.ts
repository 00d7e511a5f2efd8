import { randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import pg from 'pg'
import { describe, expect, inject, onTestFinished } from 'vitest'
import { judge } from '../../../src/health/checks.ts'
import { DOCTOR_CHECKS } from '../../../src/health/doctor-checks.ts'
import {
  createAnalyst,
  endLongSessions,
  readAnalystRisks,
} from '../../../src/platform/db/analyst-logins.ts'
import { sql } from '../../../src/platform/db/database.ts'
import { reading } from '../../health/doctor-fixture.ts'
import { adminQuery } from '../../support/postgres-server.ts'
import { runCommand } from '../../support/run-command.ts'
import { it } from '../../support/test-database.ts'
import { until } from '../../support/until.ts'
import { folderWith } from '../config/config-fixture.ts'

const LIMITS = new URL('../../../deploy/analyst-limits.sql', import.meta.url)

/** Creates a login of this test and connects with it. */
async function connectAs(url: string, kind: string, rights: string) {
  const role = `${kind}_${randomUUID().replaceAll('-', '')}`
  const server = inject('postgresUrl')
  await adminQuery(server, `create role ${role} login password 'of-a-test' ${rights}`)
  const own = new URL(url)
  own.username = role
  own.password = 'of-a-test'
  const client = new pg.Client({ connectionString: own.href })
  client.on('error', () => undefined)
  await client.connect()
  onTestFinished(async () => {
    await client.end()
    // A right to a setting belongs to the server.
    await adminQuery(server, `drop owned by ${role}`)
    await adminQuery(server, `drop role ${role}`)
  })
  return { role, client, url: own.href }
}

const ANALYST = 'in role farewatch_analyst'
const codeOf = (err: unknown) => (err as { code?: unknown }).code

describe('a login of an analyst', () => {
  it('runs no command that needs the tables of farewatch, and the message says so', async ({
    databaseUrl,
  }) => {
    const { url } = await connectAs(databaseUrl, 'analyst', ANALYST)
    const env = { DATABASE_URL: url, UPSTREAM_BASE_URL: 'http://127.0.0.1:9' }

    const { exit, stderr } = await runCommand(['sql', 'select 1'], env, folderWith())

    expect(exit).toBe(1)
    expect(stderr).toMatch(/^farewatch: the role of DATABASE_URL may not read .*\n$/)
  })

  // Fault: A login of an analyst takes our advisory locks, or stores large objects. Neither is possible where a superuser
  // migrated; elsewhere `doctor` warns and names the file to run; a wait for a lock ends with the role and process that hold
  // it.
  it('may take no advisory lock and store no large object, and doctor warns if it may', async ({
    database,
    databaseUrl,
  }) => {
    const { role, client } = await connectAs(databaseUrl, 'analyst', ANALYST)
    const doctor = async () =>
      judge(DOCTOR_CHECKS, { ...reading, analysts: await readAnalystRisks(database.db) })
    // A clone of a database has the default rights.
    expect(await doctor()).toMatchObject([
      {
        text: expect.stringMatching(
          /may make temporary tables; may write temporary files without a limit\.$/,
        ) as string,
      },
    ])
    await adminQuery(databaseUrl, await readFile(LIMITS, 'utf8'))
    await expect(client.query('create temporary table t ()')).rejects.toThrow('permission denied')
    for (const call of ['pg_advisory_lock(1)', 'pg_try_advisory_xact_lock(1, 2)', 'lo_create(0)']) {
      await expect(client.query(`select ${call}`)).rejects.toThrow(
        /^permission denied for function/,
      )
    }
    expect(await doctor()).toEqual([])

    await database.pool.query('grant execute on function pg_advisory_lock(bigint) to public')

    expect(await doctor()).toMatchObject([
      {
        code: 'analysts_unlimited',
        level: 'warn',
        text: expect.stringMatching(new RegExp(`${role}.* may take advisory locks`)) as string,
        todo: expect.stringContaining('deploy/analyst-limits.sql') as string,
      },
    ])
  })

  it('is created with a password of its own, reads the public SQL, and begins read only', async ({
    db,
    databaseUrl,
  }) => {
    const name = `mara_${randomUUID().replaceAll('-', '')}`
    const own = new URL(databaseUrl)
    own.username = name
    own.password = await createAnalyst(db, name)
    const client = new pg.Client({ connectionString: own.href })
    client.on('error', () => undefined)
    await client.connect()
    onTestFinished(async () => {
      await client.end()
      await adminQuery(inject('postgresUrl'), `drop role ${name}`)
    })

    const { rows } = await client.query(
      `select count(*)::int as places, current_setting('timezone') as zone, current_setting('work_mem') as memory from places`,
    )
    expect(rows).toEqual([{ places: 0, zone: 'UTC', memory: '64MB' }])
    await expect(client.query('create temp table t ()')).rejects.toThrow('read-only')
    await expect(client.query(`set temp_file_limit = '10GB'`)).rejects.toThrow('permission denied')
    const limit = await sql<{ rolconnlimit: number }>`
      select rolconnlimit from pg_roles where rolname = ${name}
    `.execute(db)
    expect(limit.rows).toEqual([{ rolconnlimit: 10 }])
    await expect(client.query('select from farewatch_private.sync_run')).rejects.toThrow(
      'permission',
    )
    await expect(createAnalyst(db, name)).rejects.toThrow(`there is a login "${name}" already`)
    await expect(createAnalyst(db, 'x; drop')).rejects.toThrow('cannot be the name of a login')
  })

  // Fault: A login of an analyst lifts its own timeout.
  it('loses a statement that runs over the limit, and its connection if it catches that', async ({
    db,
    databaseUrl,
  }) => {
    const { role, client } = await connectAs(databaseUrl, 'analyst', ANALYST)
    const stubborn = await connectAs(databaseUrl, 'analyst', ANALYST)
    await client.query('set statement_timeout = 0')
    const ends = [
      client.query('select pg_sleep(600)').catch(codeOf),
      stubborn.client
        .query(
          `do $$ begin loop
             begin perform pg_sleep(600); exception when query_canceled then null; end;
           end loop; end $$`,
        )
        .catch(codeOf),
    ]
    const long = sql`select count(*) from pg_stat_activity where query like '%pg_sleep(600)%' and state = 'active'
                        and usename like 'analyst%'`
    expect(await endLongSessions(db, 3600)).toEqual([])
    // What is cancelled before it catches cancellations just ends.
    await until('both asleep', async () => {
      const { rows } = await sql<{ asleep: number }>`
        select count(*) as asleep from pg_stat_activity where wait_event = 'PgSleep' and usename like 'analyst%'
      `.execute(db)
      return rows[0]?.asleep === 2
    })

    const cancelled = await until('the cancellation', async () =>
      (await endLongSessions(db, 0)).find((statement) => statement.role === role),
    )
    await until('the end of both', async () => {
      await endLongSessions(db, 0)
      return Object.values((await long.execute(db)).rows[0] as object)[0] === 0
    })

    expect(cancelled).toMatchObject({ pid: expect.any(Number), seconds: expect.any(Number) })
    expect(['57014', '57P01']).toContain(await ends[0])
    expect(await ends[1]).toBe('57P01')
  })

  it('loses a transaction that is idle for too long, or that one of ours waits for', async ({
    db,
    databaseUrl,
  }) => {
    const idle = await connectAs(databaseUrl, 'analyst', ANALYST)
    const blocking = await connectAs(databaseUrl, 'analyst', ANALYST)
    for (const { client } of [idle, blocking]) {
      await client.query('set idle_in_transaction_session_timeout = 0')
      await client.query('begin')
    }
    await blocking.client.query('select from farewatch.places')
    expect(await endLongSessions(db, 3600)).toEqual([])

    const locking = db.transaction().execute(async (tx) => {
      await sql`lock table place_version in access exclusive mode`.execute(tx)
    })
    const [inTheWay] = await until('the end of the one in the way', async () => {
      const ended = await endLongSessions(db, 3600)
      return ended.length > 0 && ended
    })
    await locking
    const [tooLong] = await endLongSessions(db, 0)

    expect(inTheWay).toMatchObject({ role: blocking.role, why: 'in the way' })
    expect(tooLong).toMatchObject({ role: idle.role, why: 'idle in a transaction' })
  })
})
