import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { FaultRule } from '../../sandbox/faults/fault-rule.ts'
import { sql } from '../../src/platform/db/database.ts'
import { createQueueSystem } from '../../src/platform/queue/queue-system.ts'
import { SYNC_QUEUE } from '../../src/routes/sync.ts'
import { hasPrometheus } from '../support/promtool.ts'
import { hasRedisServer } from '../support/redis-tier.ts'
import { silentLog } from '../support/silent-log.ts'
import { until } from '../support/until.ts'
import { type LiveFixture, prepareLiveFixture } from './live-fixture.ts'
import { type RunbookCommand, type RunbookWords, runbookCommands } from './runbook-commands.ts'

describe.runIf(hasPrometheus() && hasRedisServer())('in a real Prometheus', () => {
  let fixture: LiveFixture
  let words: RunbookWords
  /** One for each client: few requests of one key run at a time. */
  let keys: readonly string[] = []

  beforeAll(async () => {
    fixture = await prepareLiveFixture()
    const { flightId } = fixture
    words = { flightId }
    const created = Array.from({ length: 8 }, () =>
      fixture.run('keys', 'create', '--reseller', 'ana'),
    )
    keys = (await Promise.all(created)).map(({ stdout }) => stdout.trim())
    setFaults()
  })
  afterEach(async () => {
    setFaults()
    await fixture.proxy.open()
  })
  afterAll(() => fixture.close(), 30_000)

  const setFaults = (...rules: FaultRule[]) => fixture.sandbox.setFaults(rules)
  const firing = (alert: string) =>
    until(`${alert} fires`, async () => (await fixture.prometheus.firing()).includes(alert))
  const silent = (alert: string) =>
    until(`${alert} ends`, async () => !(await fixture.prometheus.firing()).includes(alert))

  async function run({ line, args }: RunbookCommand): Promise<void> {
    const { exit, stdout, stderr } = await fixture.run(...args)
    // 2 is wrong usage.
    expect([0, 1, 3, 4, 5], `${line}\n${stdout}${stderr}`).toContain(exit)
    expect(`${stdout}${stderr}`, line).not.toMatch(
      /postgres(ql)?:\/\/[^ ]*:(?!password@db\.example)[^ ]*@/,
    )
  }

  /** Runs the commands of a section of the runbooks. */
  async function runCheck(section: string): Promise<void> {
    for (const command of runbookCommands(words, section)) await run(command)
  }

  const codesOf = async () => {
    const { stdout } = await fixture.run('doctor', '--json')
    const { warnings } = JSON.parse(stdout) as { warnings: { code: string; level: string }[] }
    return warnings.filter(({ level }) => level === 'bad').map(({ code }) => code)
  }

  /** Runs the commands of the runbook while the alert fires, and expects that doctor says the same. */
  async function expectCause(code: string): Promise<void> {
    await runCheck(code)
    expect(await codesOf()).toContain(code)
  }

  it('nothing is wrong when all is well, and every command of the runbooks runs', async () => {
    await until('two accepted lists', async () => {
      const { stdout } = await fixture.run('runs', 'list', '--json')
      return stdout.includes('"routes"') && stdout.includes('with-availability')
    })
    for (const command of runbookCommands(words)) await run(command)
    // The disk of the test machine may be full.
    expect((await codesOf()).filter((code) => code !== 'disk_filling')).toEqual([])
    // Each command is a process.
  }, 400_000)

  it('list_held fires for a held list until an operator rejects the list', async () => {
    setFaults({ name: 'half-list', endpoint: 'routes' })
    expect(await fixture.run('sync', '--list', 'routes')).toMatchObject({ exit: 3 })
    await firing('list_held')
    const { stdout } = await fixture.run('runs', 'review', '--json')
    const { runId } = JSON.parse(stdout) as { runId: number }
    await expectCause('list_held')

    setFaults()
    expect(await fixture.run('runs', 'reject', String(runId))).toMatchObject({ exit: 0 })

    await silent('list_held')
  })

  it('MassIncident fires for losses until an operator closes the incident', async () => {
    // Losses are confirmed after about 20 s.
    setFaults({ name: 'all-unavailable' })
    await firing('MassIncident')
    await expectCause('mass_loss')

    // Once the answers are right again, the incident ends by itself.
    expect(await fixture.run('incidents', 'close', 'mass_loss')).toMatchObject({ exit: 0 })
    setFaults()

    await silent('MassIncident')
  })

  it('MassIncident fires for other changes until an operator closes the incident', async () => {
    setFaults({ name: 'odd-prices', form: 'currency' })
    await firing('MassIncident')
    await expectCause('mass_price_change')

    const closed = await fixture.run('incidents', 'close', 'mass_price_change')
    expect(closed).toMatchObject({ exit: 0 })
    setFaults()

    await silent('MassIncident')
  })

  it('list_failing fires when the list of two due times does not arrive', async () => {
    setFaults({ name: 'status', endpoint: 'with-availability', code: 500 })
    await firing('list_failing')
    await expectCause('list_failing')

    setFaults()
    await fixture.run('upstream', 'probe')

    await silent('list_failing')
  })

  it('UpstreamErrors and BeliefsStale fire until the upstream answers and all fares are checked', async () => {
    setFaults({ name: 'status', code: 500 })
    await firing('UpstreamErrors')
    await expectCause('calls_failing')
    await sql`update fare_state set last_good_check_at = last_good_check_at - interval '2 hours'`.execute(
      fixture.database.db,
    )
    await firing('BeliefsStale')
    await expectCause('fares_stale')

    setFaults()
    await fixture.run('upstream', 'probe', '--flight', words.flightId)

    await silent('UpstreamErrors')
    await silent('BeliefsStale')
  })

  it('UpstreamAuthFailing fires until the credential is accepted again', async () => {
    setFaults({ name: 'status', code: 401 })
    await firing('UpstreamAuthFailing')
    await expectCause('credential_refused')

    setFaults()
    expect(await fixture.run('upstream', 'probe', '--flight', words.flightId)).toMatchObject({
      exit: 0,
    })

    await silent('UpstreamAuthFailing')
  })

  it('upstream_paused and budget_limited fire while the upstream asks us to wait', async () => {
    setFaults({ name: 'rate-limited', retryAfter: 'seconds', seconds: 20 })
    await firing('upstream_paused')
    await runCheck('upstream_paused')
    await firing('budget_limited')
    await runCheck('budget_limited')

    setFaults()

    await silent('upstream_paused')
    await silent('budget_limited')
  })

  it('jobs_dead fires until the dead job is dropped', async () => {
    const { port } = fixture.redis.options
    const queue = createQueueSystem({
      connection: { kind: 'redis', url: `redis://127.0.0.1:${port}` },
      log: silentLog,
      scrub: (text) => text,
    })
    await queue.enqueue(SYNC_QUEUE, { payload: { list: 'no such list' }, attempts: 1 })
    await queue.close({ graceMs: 1_000 })
    await firing('jobs_dead')
    await expectCause('jobs_dead')

    expect(await fixture.run('jobs', 'drop', SYNC_QUEUE, '--all', '--yes')).toMatchObject({
      exit: 0,
    })

    await silent('jobs_dead')
  })

  it('tick_failing fires while the tick of every minute fails', async () => {
    const { db } = fixture.database
    await sql`alter table fare_schedule rename to fare_schedule_away`.execute(db)
    await firing('tick_failing')
    await runCheck('tick_failing')

    await sql`alter table fare_schedule_away rename to fare_schedule`.execute(db)

    await silent('tick_failing')
    await silent('NoSystemGauges')
  })

  it('clock_set_back fires when the clock of the database was set back', async () => {
    await sql`update schedule_facts set claimed_at = clock_timestamp() + interval '1 hour'`.execute(
      fixture.database.db,
    )
    await firing('clock_set_back')
    await runCheck('clock_set_back')
  })

  it('DatabaseTrouble, NoSystemGauges and ApiErrors fire while the database is unreachable', async () => {
    await fixture.proxy.shut()
    const clients = useApi('status')
    await firing('DatabaseTrouble')
    await runCheck('database_trouble')
    await firing('NoSystemGauges')
    await runCheck('gauges_missing')
    await firing('ApiErrors')
    await runCheck('api_errors')

    await fixture.proxy.open()
    await clients.stop()

    for (const alert of ['DatabaseTrouble', 'NoSystemGauges', 'ApiErrors']) await silent(alert)
  })

  it('api_slow fires while requests wait for a lock', async () => {
    const clients = useApi('watch-lists')
    const locks = lockAgainAndAgain('watch_list', 1.5)
    await firing('api_slow')
    await runCheck('api_slow')

    await locks.stop()
    await clients.stop()

    await silent('api_slow')
  })

  it('NoSystemGauges fires while their reading waits for locks', async () => {
    const locks = lockAgainAndAgain('delivery', 8)
    await firing('NoSystemGauges')
    await runCheck('gauges_missing')

    await locks.stop()

    await silent('NoSystemGauges')
  })

  it('redis_memory fires until Redis may use more memory', async () => {
    const info = await fixture.redis.info('memory')
    const used = Number(/^used_memory:(\d+)/m.exec(info)?.[1])
    await fixture.redis.config('SET', 'maxmemory', String(Math.round(1.15 * used)))
    await firing('redis_memory')
    await expectCause('redis_memory')

    await fixture.redis.config('SET', 'maxmemory', '0')

    await silent('redis_memory')
  })

  it('ApiDown fires when only workers are left, WorkStopped when only the API is left', async () => {
    await fixture.restart('worker')
    await firing('ApiDown')
    await runCheck('api_down')
    await fixture.restart('api')
    await silent('ApiDown')
    await firing('WorkStopped')
    await expectCause('role_missing')

    await fixture.restart('up')

    await silent('WorkStopped')
  })

  it('process_silent and every alert on missing values fire when no process is left', async () => {
    await fixture.restart()
    for (const alert of ['process_silent', 'ApiDown', 'NoSystemGauges']) {
      await firing(alert)
    }
    const found = await fixture.prometheus.query('ALERTS{alertstate="firing"}')
    await runCheck('process_silent')
    const labels = found.map((alert) => [alert.labels.job, alert.labels.environment])
    expect(new Set(labels.map(String))).toEqual(new Set(['farewatch,production']))

    await fixture.restart('up')

    for (const alert of ['process_silent', 'ApiDown', 'NoSystemGauges']) {
      await silent(alert)
    }
  })

  /** Clients that ask again as soon as they are answered. */
  function useApi(endpoint: string) {
    let running = true
    const client = async (key: string) => {
      const headers = { authorization: `Bearer ${key}` }
      while (running) {
        await fetch(`${fixture.api}/api/v1/${endpoint}`, { headers })
          .then((response) => response.text())
          .catch(() => undefined)
        await new Promise((resolve) => setTimeout(resolve, 50))
      }
    }
    const clients = keys.map(client)
    return {
      stop: async () => {
        running = false
        await Promise.all(clients)
      },
    }
  }

  /** Locks a table for some seconds, again and again. */
  function lockAgainAndAgain(table: string, seconds: number) {
    let running = true
    const locks = async () => {
      while (running) {
        await sql`
          begin;
          lock table ${sql.table(table)} in access exclusive mode;
          select pg_sleep(${sql.lit(seconds)});
          commit
        `.execute(fixture.database.db)
      }
    }
    const ended = locks()
    return {
      stop: async () => {
        running = false
        await ended
      },
    }
  }
})
