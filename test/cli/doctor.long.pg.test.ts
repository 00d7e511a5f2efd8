import net from 'node:net'
import { Redis } from 'ioredis'
import { describe, expect, onTestFinished } from 'vitest'
import { examineDisk } from '../../src/app/doctor/doctor-database.ts'
import type { DoctorDeps, Finding } from '../../src/app/doctor/doctor-finding.ts'
import { type Db, openDatabase, sql } from '../../src/platform/db/database.ts'
import { listBlockers } from '../../src/platform/db/database-health.ts'
import { selectOne } from '../../src/platform/db/transaction.ts'
import { routes } from '../routes/sync-fixtures.ts'
import { runFarewatch, startInTest } from '../support/child-process.ts'
import { startListServer } from '../support/list-server.ts'
import { listenLocally } from '../support/local-server.ts'
import { freePort } from '../support/redis-tier.ts'
import { silentLog } from '../support/silent-log.ts'
import { it } from '../support/test-database.ts'
import { until } from '../support/until.ts'
import { putState } from '../upstream/health-fixtures.ts'
import { aWorld, killJobs, ownRedis, queueOf, STORES } from './operator-fixtures.ts'

interface Report {
  readonly exit: number | string
  readonly wrong: number
  readonly findings: readonly Finding[]
  about(name: string): readonly Finding[]
}

async function doctor(env: Readonly<Record<string, string>>): Promise<Report> {
  const { exit, stdout, stderr } = await runFarewatch(['doctor', '--json'], env)
  // The queue library prints a warning of its own about Redis.
  expect(stderr.replace(/^IMPORTANT! Eviction policy .*\n/, '')).toBe('')
  const { wrong, findings } = JSON.parse(stdout) as Omit<Report, 'exit' | 'about'>
  const about = (name: string) => findings.filter((finding) => finding.about === name)
  return { exit, wrong, findings, about }
}

/** A session of its own. */
function aClient(url: string): Db {
  const name = { applicationName: 'somebody', log: silentLog, maxConnections: 1 }
  // On a busy machine two commands take longer than a statement may wait.
  const database = openDatabase({ url, ...name, statementTimeoutMs: 600_000 })
  onTestFinished(() => database.close())
  return database.db
}

async function breakThings(db: Db): Promise<void> {
  await sql`
    insert into sync_run (list, status, reason_code, reason, fetched_at, finished_at)
    values ('routes', 'held', 'guard.empty', 'the list is empty', clock_timestamp(), clock_timestamp())
  `.execute(db)
  await sql`insert into held_list (list, first_run_id, lists) select list, id, 1 from sync_run`.execute(
    db,
  )
  await sql`insert into incident (kind) values ('mass_loss')`.execute(db)
  await putState(db, ['verify', 'auth'], {
    open: { sinceMs: 60_000, cause: '401', goodAtMs: 59_000, probeAtMs: 0, probe: null },
  })
}

describe('farewatch doctor', () => {
  it('does not say "ok disk" of a disk that it does not see', async ({ databaseUrl }) => {
    const database = openDatabase({
      url: `${databaseUrl}?options=-c%20role%3Dfarewatch_analyst`,
      applicationName: 'test',
      log: silentLog,
    })
    onTestFinished(() => database.close())

    const { about, level, says } = await examineDisk({ app: { database } } as unknown as DoctorDeps)

    expect([about, level]).toEqual(['space', 'ok'])
    expect(says).toContain('cannot be seen from here')
  })

  it('finds nothing wrong while a worker runs', async ({ databaseUrl }) => {
    const lists = await startListServer()
    onTestFinished(() => lists.close())
    lists.serve({ routes: routes('PMI-MAD', 'MAD-PMI'), available: routes('PMI-MAD') })
    const env = {
      DATABASE_URL: databaseUrl,
      UPSTREAM_BASE_URL: lists.url,
      UPSTREAM_ACCESS_TOKEN: 'a-token-of-tests',
      ADMIN_PORT: '0',
    }
    const worker = startInTest(['worker'], env)
    await until('the first list', () => worker.stdout().includes('"msg":"route sync finished"'))

    const report = await until('a tick', async () => {
      const made = await doctor(env)
      return made.about('workers')[0]?.level === 'ok' && made
    })

    // The disk of the test machine may be full.
    const others = report.findings.filter(({ about }) => about !== 'disk')
    expect(others.filter(({ level }) => level === 'wrong')).toEqual([])
    expect(report.about('processes')).toMatchObject([
      {
        level: 'ok',
        says: expect.stringMatching(
          new RegExp(
            `^worker \\S+ on host \\S+ \\(pid ${worker.child.pid}\\) since 20.*, progress \\d+ s ago$`,
          ),
        ) as string,
      },
    ])
    expect(report.about('workers')[0]?.says).toMatch(/^the last periodic work ended \d+ s ago$/)
    expect(report.about('schedules')[0]?.says).toMatch(
      /^due: sync-routes in .*, sync-with-availability in /,
    )
    expect(JSON.stringify(report.findings)).not.toContain('a-token-of-tests')
  })

  it('gives advice about each problem', async ({ db, databaseUrl }) => {
    const world = await aWorld(databaseUrl, 'postgres')
    await killJobs(queueOf(world), { queue: 'verify', count: 2, message: 'no luck' })
    await breakThings(db)

    const report = await doctor(world.env)
    // The state that all processes share counts, not what this shell knows of the upstream.
    const { stdout } = await runFarewatch(['doctor'], { DATABASE_URL: databaseUrl })

    expect(report.exit).toBe(1)
    const todos = report.findings
      .filter(({ level }) => level === 'wrong')
      .map(({ about, says, todo }) => `${about}: ${says} -> ${todo}`)
    expect(todos).toEqual(
      expect.arrayContaining([
        expect.stringMatching(
          /^workers: no periodic work has ever ended.* -> .*bin\/farewatch worker/,
        ),
        expect.stringMatching(/^dead jobs: 2 of verify, .*Error: no luck -> .*jobs retry verify/),
        expect.stringMatching(/^schedules: sync-routes is not in the queue -> start a worker/),
        expect.stringMatching(/^held runs: run 1 of routes is held.*empty -> .*sync review 1$/),
        expect.stringMatching(/^incidents: mass_loss since .* -> bin\/farewatch incidents list$/),
        expect.stringMatching(
          /^credential: the upstream refuses it for verify \(401\) since 1970-01-01 00:01:00 UTC .*, last good answer 1970-01-01 00:00:59 UTC; .* -> write a new one into the file/,
        ),
      ]),
    )
    expect(stdout).toMatch(
      /^ok {7}database {6}PostgreSQL .*\nok {7}schema .*\nWRONG {4}credential {4}the upstream refuses it for verify /,
    )
    expect(stdout).toMatch(
      /\nWRONG {4}held runs {5}run 1 .*\n {23}→ bin\/farewatch sync review 1\n/,
    )
    expect(stdout).toMatch(new RegExp(`\n\n${report.wrong} wrong, \\d warnings?\n$`))
  })

  it('reports until when a pause lasts, and when the last call was refused while the breaker is closed', async ({
    db,
    databaseUrl,
  }) => {
    const env = {
      DATABASE_URL: databaseUrl,
      UPSTREAM_BASE_URL: 'http://127.0.0.1:9',
      UPSTREAM_ACCESS_TOKEN: 'a-token-of-tests',
    }
    const { rows } = await sql<{ until: Date }>`
      update upstream_budget set paused_until = clock_timestamp() + interval '14 minutes'
      returning paused_until as until
    `.execute(db)
    const failedAtMs = Date.now()
    await putState(db, ['verify', 'auth'], { failedAtMs })
    await putState(db, ['verify', 'errors'], { failedAtMs: failedAtMs - 300_000, failures: 9 })

    const report = await doctor(env)

    expect(report.about('budget')).toMatchObject([
      {
        level: 'warning',
        says: `the upstream asked for a pause until ${rows[0]?.until.toISOString()}`,
      },
    ])
    expect(report.about('upstream')).toEqual([])
    expect(report.about('credential')).toMatchObject([
      {
        level: 'warning',
        says: `the upstream refused calls to verify, the last one at ${new Date(failedAtMs).toISOString()}`,
      },
    ])
  })

  it('names the session that others wait for, and so does a status that waits for it', async ({
    db,
    databaseUrl,
  }) => {
    const [holder, waiting] = [aClient(databaseUrl), aClient(databaseUrl)]
    const locked = Promise.withResolvers<number>()
    const release = Promise.withResolvers<void>()
    // Between two statements it stays with the test: a pool closes a connection that is idle for some seconds.
    const held = holder.connection().execute(async (session) => {
      await sql`
        set idle_in_transaction_session_timeout = 0; begin; lock table fare_state in access exclusive mode
      `.execute(session)
      const own = await selectOne(sql<{ pid: number }>`select pg_backend_pid() as pid`, session)
      locked.resolve(own.pid)
      await release.promise
      await sql`rollback`.execute(session)
    })
    const pid = await locked.promise
    const ended = sql`select from fare_state`.execute(waiting)
    await until('a wait of seconds', async () => (await listBlockers(db)).length > 0)

    const env = { DATABASE_URL: databaseUrl }
    const [report, status] = await Promise.all([doctor(env), runFarewatch(['status'], env)])
    release.resolve()
    await Promise.all([held, ended])

    const named = `session ${pid} of "`
    expect(report.about('locks')).toMatchObject([{ level: 'wrong' }])
    expect(report.about('locks')[0]?.says).toContain(named)
    expect(report.about('locks')[0]?.todo).toContain(`select pg_terminate_backend(${pid})`)
    expect(status.exit).toBe(1)
    expect(status.stderr).toMatch(/^farewatch: the status did not come within 15 s: session /m)
    expect(status.stderr).toContain(named)
  })

  it('reports an old schema and skips the checks that depend on it', async ({
    db,
    databaseUrl,
  }) => {
    await sql`delete from migration_note where name = (select max(name) from migration_note)`.execute(
      db,
    )

    const report = await doctor({ DATABASE_URL: databaseUrl })

    expect(report.exit).toBe(1)
    expect(report.about('schema')[0]?.todo).toBe('bin/farewatch migrate')
    expect(report.about('the rest')[0]?.says).toContain('because of the schema')
    expect(report.about('schedules')).toEqual([])
  })

  it('reports which database is down or does not answer', async () => {
    const silent = await listenLocally(net.createServer(() => undefined))
    onTestFinished(silent.close)
    const ports = [await freePort(), silent.port]
    for (const port of ports) {
      const url = `postgres://somebody:hunter2hunter2@127.0.0.1:${port}/fares`

      const report = await doctor({ DATABASE_URL: url })

      expect(report.exit).toBe(1)
      expect(report.findings).toHaveLength(2)
      expect(report.about('database')[0]?.says).toContain(`127.0.0.1:${port}/fares`)
      expect(JSON.stringify(report)).not.toContain('hunter2')
    }
  })

  it.runIf(STORES.includes('redis'))(
    'checks the configuration of Redis, and reports when Redis is down',
    async ({ databaseUrl }) => {
      const url = await ownRedis()
      const env = { DATABASE_URL: databaseUrl, REDIS_URL: url }
      const redis = new Redis(url)
      await redis.config('SET', 'maxmemory-policy', 'allkeys-lru')
      const badly = await doctor(env)
      await redis.config('SET', 'maxmemory-policy', 'noeviction')
      await redis.config('SET', 'appendonly', 'yes')
      await until(
        'the file',
        async () => !(await redis.info()).includes('aof_rewrite_in_progress:1'),
      )
      const well = await doctor(env)
      redis.disconnect()
      const away = await doctor({ ...env, REDIS_URL: `redis://127.0.0.1:${await freePort()}` })

      expect(badly.about('queue').map(({ level, says }) => [level, says.split(':')[0]])).toEqual([
        ['wrong', 'Redis may evict jobs'],
        ['warning', 'Redis keeps no append-only file'],
      ])
      expect(well.about('queue')).toMatchObject([
        { level: 'ok', says: expect.stringContaining('noeviction, append-only file') as string },
      ])
      expect(away.about('queue')[0]?.says).toContain('check that Redis runs')
      expect(away.about('workers')).toEqual([])
    },
  )
})
