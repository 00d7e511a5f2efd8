import net from 'node:net'
import { describe, expect, onTestFinished } from 'vitest'
import type { Examination } from '../../src/app/doctor.ts'
import { type Db, openDatabase, sql } from '../../src/platform/db/database.ts'
import { listBlockers } from '../../src/platform/db/database-health.ts'
import { selectOne } from '../../src/platform/db/transaction.ts'
import { runFarewatch } from '../support/child-process.ts'
import { listenLocally } from '../support/local-server.ts'
import { freePort } from '../support/redis-tier.ts'
import { silentLog } from '../support/silent-log.ts'
import { it } from '../support/test-database.ts'
import { until } from '../support/until.ts'
import { putState } from '../upstream/health-fixtures.ts'
import { aWorld, killJobs, queueOf } from './operator-fixtures.ts'

interface Report {
  readonly exit: number | string
  readonly warnings: Examination['warnings']
  readonly facts: Readonly<Record<string, string>>
  /** Each with its level. */
  readonly codes: readonly string[]
  of(code: string): Examination['warnings'][number] | undefined
}

async function doctor(env: Readonly<Record<string, string>>): Promise<Report> {
  const { exit, stdout, stderr } = await runFarewatch(['doctor', '--json'], env)
  // The queue library prints a warning of its own about Redis.
  expect(stderr.replace(/^IMPORTANT! Eviction policy .*\n/, '')).toBe('')
  expect(stdout).not.toMatch(/hunter2|a-token-of-tests/)
  const { warnings, facts } = JSON.parse(stdout) as Examination
  return {
    exit,
    facts: Object.fromEntries(facts.map(({ about, text }) => [about, text])),
    warnings,
    codes: warnings.map(({ level, code }) => `${level} ${code}`),
    of: (code) => warnings.find((one) => one.code === code),
  }
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
  // Fault: The credential is refused, and `doctor` runs in a shell without `UPSTREAM_BASE_URL`. It is WRONG, with cause, since
  // when and the last good answer.
  it('shows what the status shows, with the same texts and the same exit code', async ({
    db,
    databaseUrl,
  }) => {
    const world = await aWorld(databaseUrl, 'postgres')
    await killJobs(queueOf(world), { queue: 'route-sync', count: 2, message: 'no luck' })
    await breakThings(db)

    const report = await doctor(world.env)
    const shown = await runFarewatch(['doctor'], world.env)
    const status = await runFarewatch(['status', '--json', '--database'], world.env)

    const { warnings } = JSON.parse(status.stdout) as Examination
    expect(warnings.length).toBeGreaterThan(5)
    const texts = new Set(report.warnings.map(({ text }) => text))
    expect(warnings.filter(({ text }) => !texts.has(text))).toEqual([])
    expect([report.exit, status.exit]).toEqual([1, 1])
    expect(report.codes).toEqual(
      expect.arrayContaining([
        'bad no_process',
        'bad jobs_dead',
        'bad list_held',
        'bad mass_loss',
        'bad credential_refused',
      ]),
    )
    expect(report.of('credential_refused')?.text).toBe(
      'The upstream refuses our credential for verify (401), the last good answer came at 1970-01-01T00:00:59.000Z. Single calls test it.',
    )
    expect(shown.stdout).toMatch(
      /\nWRONG {4}jobs_dead: Dead jobs: 2 of route-sync\.\n {9}→ bin\/farewatch jobs list\n/,
    )
    expect(shown.stdout).toMatch(/\n\d+ wrong, \d+ warnings?\n$/)
  })

  // Fault: A worker with an old credential ends. The hint of `doctor` ends a minute after its last refusal.
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

    expect(report.of('upstream_paused')).toMatchObject({
      level: 'warn',
      until: rows[0]?.until.toISOString(),
    })
    expect(report.of('calls_failing')).toBeUndefined()
    expect(report.of('credential_refused')).toMatchObject({
      level: 'warn',
      since: new Date(failedAtMs).toISOString(),
    })
  })

  // Fault: A session holds a lock for minutes. `status` and `doctor` name it.
  it('names the session that others wait for, and a status that waits for it says who finds it', async ({
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
    const [report, status] = await Promise.all([
      doctor(env),
      runFarewatch(['status', '--database'], env),
    ])
    release.resolve()
    await Promise.all([held, ended])

    const named = `session ${pid} of "`
    expect(report.of('session_blocks')).toMatchObject({ level: 'bad', subject: String(pid) })
    expect(report.of('session_blocks')?.text).toContain(named)
    expect(status.exit).toBe(1)
    expect(status.stderr).toMatch(
      /^farewatch: the status did not come within 15 s: "bin\/farewatch doctor" looks for the reason$/m,
    )
  })

  it('reports which database is down or does not answer', async () => {
    const silent = await listenLocally(net.createServer(() => undefined))
    onTestFinished(silent.close)
    const ports = [await freePort(), silent.port]
    for (const port of ports) {
      const url = `postgres://somebody:hunter2hunter2@127.0.0.1:${port}/fares`

      const report = await doctor({ DATABASE_URL: url })

      expect(report.exit).toBe(1)
      expect(report.codes.filter((code) => code.startsWith('bad'))).toEqual(['bad database_down'])
      expect(report.of('database_down')?.text).toContain(`127.0.0.1:${port}/fares`)
    }
  })
})
