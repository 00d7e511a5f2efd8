import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { runbookSections } from '../../grafana/source/runbooks.ts'
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
    const { flightId, database } = fixture
    const { rows } = await sql<{ id: string }>`
      select id::text from tracked_fare where flight_id = ${flightId}
    `.execute(database.db)
    words = { flightId, fareId: rows[0]?.id ?? '', runId: '1' }
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

  async function isHealthy({
    line,
    args,
    isHealthy,
  }: RunbookCommand): Promise<boolean | undefined> {
    const { exit, stdout, stderr } = await fixture.run(...args)
    // 2 is wrong usage.
    expect([0, 1, 3, 4, 5], `${line}\n${stdout}${stderr}`).toContain(exit)
    expect(`${stdout}${stderr}`, line).not.toMatch(/postgres(ql)?:\/\/[^ ]*:[^ ]*@/)
    return isHealthy?.({ exit, stdout })
  }

  /** Runs the commands of the runbook. */
  async function runCheck(alert: string): Promise<(boolean | undefined)[]> {
    const results: (boolean | undefined)[] = []
    for (const command of runbookCommands(alert, words)) results.push(await isHealthy(command))
    return results
  }

  /** Runs the commands of the runbook while the alert fires. At least one must not print what is healthy. */
  const expectCause = async (alert: string) => expect(await runCheck(alert), alert).toContain(false)

  it('every healthy sign of the runbooks is what the program prints when all is well', async () => {
    await until('two accepted lists', async () => {
      const { stdout } = await fixture.run('sync', 'runs', '--json')
      return stdout.includes('"routes"') && stdout.includes('with-availability')
    })
    const commands = runbookSections().flatMap(({ title }) => runbookCommands(title, words))
    const distinct = new Map(commands.map((command) => [command.line, command]))
    expect(distinct.size).toBeGreaterThan(20)

    const unhealthy: string[] = []
    for (const [line, command] of distinct) {
      if ((await isHealthy(command)) === false) unhealthy.push(line)
    }
    expect(unhealthy).toEqual([])
    // Each command is a process.
  }, 400_000)

  it('RouteSyncHeld fires for a held list until an operator rejects the list', async () => {
    setFaults({ name: 'half-list', endpoint: 'routes' })
    expect(await fixture.run('sync', '--list', 'routes')).toMatchObject({ exit: 3 })
    await firing('RouteSyncHeld')
    const { stdout } = await fixture.run('sync', 'review', '--json')
    const { runId } = JSON.parse(stdout) as { runId: number }
    words = { ...words, runId: String(runId) }
    await expectCause('RouteSyncHeld')

    setFaults()
    expect(await fixture.run('sync', 'reject', words.runId)).toMatchObject({ exit: 0 })

    await silent('RouteSyncHeld')
  })

  it('MassLossIncident fires until an operator closes the incident', async () => {
    // Losses are confirmed after about 20 s.
    setFaults({ name: 'all-unavailable' })
    await firing('MassLossIncident')
    await expectCause('MassLossIncident')

    // Once the answers are right again, the incident ends by itself.
    expect(await fixture.run('incidents', 'close', 'mass_loss')).toMatchObject({ exit: 0 })
    setFaults()

    await silent('MassLossIncident')
  })

  it('MassChangeIncident fires until an operator closes the incident', async () => {
    setFaults({ name: 'odd-prices', form: 'currency' })
    await firing('MassChangeIncident')
    await expectCause('MassChangeIncident')

    const closed = await fixture.run('incidents', 'close', 'mass_price_change')
    expect(closed).toMatchObject({ exit: 0 })
    setFaults()

    await silent('MassChangeIncident')
  })

  it('RouteSyncStale fires when the list of two due times does not arrive', async () => {
    setFaults({ name: 'status', endpoint: 'with-availability', code: 500 })
    await firing('RouteSyncStale')
    await expectCause('RouteSyncStale')

    setFaults()
    await fixture.run('upstream', 'probe')

    await silent('RouteSyncStale')
  })

  it('UpstreamErrors and BeliefsStale fire until the upstream answers and all fares are checked', async () => {
    setFaults({ name: 'status', code: 500 })
    await firing('UpstreamErrors')
    await expectCause('UpstreamErrors')
    await sql`update fare_state set last_good_check_at = last_good_check_at - interval '2 hours'`.execute(
      fixture.database.db,
    )
    await firing('BeliefsStale')
    await expectCause('BeliefsStale')

    setFaults()
    await fixture.run('upstream', 'probe', '--flight', words.flightId)

    await silent('UpstreamErrors')
    await silent('BeliefsStale')
  })

  it('UpstreamAuthFailing fires until the credential is accepted again', async () => {
    setFaults({ name: 'status', code: 401 })
    await firing('UpstreamAuthFailing')
    await expectCause('UpstreamAuthFailing')

    setFaults()
    expect(await fixture.run('upstream', 'probe', '--flight', words.flightId)).toMatchObject({
      exit: 0,
    })

    await silent('UpstreamAuthFailing')
  })

  it('UpstreamPaused and BudgetThrottled fire while the upstream asks us to wait', async () => {
    setFaults({ name: 'rate-limited', retryAfter: 'seconds', seconds: 20 })
    await firing('UpstreamPaused')
    await expectCause('UpstreamPaused')
    await firing('BudgetThrottled')
    await expectCause('BudgetThrottled')

    setFaults()

    await silent('UpstreamPaused')
    await silent('BudgetThrottled')
  })

  it('DeadJobs fires until the dead job is dropped', async () => {
    const { port } = fixture.redis.options
    const queue = createQueueSystem({
      connection: { kind: 'redis', url: `redis://127.0.0.1:${port}` },
      log: silentLog,
      scrub: (text) => text,
    })
    await queue.enqueue(SYNC_QUEUE, { payload: { list: 'no such list' }, attempts: 1 })
    await queue.close({ graceMs: 1_000 })
    await firing('DeadJobs')
    await expectCause('DeadJobs')

    expect(await fixture.run('jobs', 'drop', SYNC_QUEUE, '--all', '--yes')).toMatchObject({
      exit: 0,
    })

    await silent('DeadJobs')
  })

  it('TickFailing fires while the tick of every minute fails', async () => {
    const { db } = fixture.database
    await sql`alter table fare_schedule rename to fare_schedule_away`.execute(db)
    await firing('TickFailing')
    await expectCause('TickFailing')

    await sql`alter table fare_schedule_away rename to fare_schedule`.execute(db)

    await silent('TickFailing')
    await silent('NoSystemGauges')
  })

  it('DatabaseClockSetBack fires when the clock of the database was set back', async () => {
    await sql`update schedule_facts set claimed_at = clock_timestamp() + interval '1 hour'`.execute(
      fixture.database.db,
    )
    await firing('DatabaseClockSetBack')
    await runCheck('DatabaseClockSetBack')
  })

  it('DatabaseTrouble, NoSystemGauges and ApiErrors fire while the database is unreachable', async () => {
    await fixture.proxy.shut()
    const clients = useApi('status')
    await firing('DatabaseTrouble')
    await expectCause('DatabaseTrouble')
    await firing('NoSystemGauges')
    await expectCause('NoSystemGauges')
    await firing('ApiErrors')
    await expectCause('ApiErrors')

    await fixture.proxy.open()
    await clients.stop()

    for (const alert of ['DatabaseTrouble', 'NoSystemGauges', 'ApiErrors']) await silent(alert)
  })

  it('ApiSlow fires while requests wait for a lock', async () => {
    const clients = useApi('watch-lists')
    const locks = lockAgainAndAgain('watch_list', 1.5)
    await firing('ApiSlow')
    await runCheck('ApiSlow')

    await locks.stop()
    await clients.stop()

    await silent('ApiSlow')
  })

  it('SystemGaugesOld fires while their reading waits for locks', async () => {
    const locks = lockAgainAndAgain('delivery', 8)
    await firing('SystemGaugesOld')
    await runCheck('SystemGaugesOld')

    await locks.stop()

    await silent('SystemGaugesOld')
  })

  it('RedisMemoryFilling fires until Redis may use more memory', async () => {
    const info = await fixture.redis.info('memory')
    const used = Number(/^used_memory:(\d+)/m.exec(info)?.[1])
    await fixture.redis.config('SET', 'maxmemory', String(Math.round(1.15 * used)))
    await firing('RedisMemoryFilling')
    await expectCause('RedisMemoryFilling')

    await fixture.redis.config('SET', 'maxmemory', '0')

    await silent('RedisMemoryFilling')
  })

  it('ApiDown fires when only workers are left, WorkerNotPolling when only the API is left', async () => {
    await fixture.restart('worker')
    await firing('ApiDown')
    await runCheck('ApiDown')
    await fixture.restart('api')
    await silent('ApiDown')
    await firing('WorkerNotPolling')
    await until('a silence of a minute', async () => {
      const { stdout } = await fixture.run('status')
      return stdout.includes('NO TICK')
    })
    await expectCause('WorkerNotPolling')

    await fixture.restart('up')

    await silent('WorkerNotPolling')
  })

  it('ProcessGone and every alert on missing values fire when no process is left', async () => {
    await fixture.restart()
    for (const alert of ['ProcessGone', 'ApiDown', 'WorkerNotPolling', 'NoSystemGauges']) {
      await firing(alert)
    }
    const found = await fixture.prometheus.query('ALERTS{alertstate="firing"}')
    await runCheck('ProcessGone')
    const labels = found.map((alert) => [alert.labels.job, alert.labels.environment])
    expect(new Set(labels.map(String))).toEqual(new Set(['farewatch,production']))

    await fixture.restart('up')

    for (const alert of ['ProcessGone', 'ApiDown', 'WorkerNotPolling', 'NoSystemGauges']) {
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
