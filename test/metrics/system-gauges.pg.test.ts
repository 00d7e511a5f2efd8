import { describe, expect, onTestFinished } from 'vitest'
import { manyRoutes, sync } from '../route-sync/sync-fixtures.ts'
import { type RunningCommand, startFarewatch } from '../support/child-process.ts'
import { hasPrometheus, promtool } from '../support/promtool.ts'
import { createTcpProxy } from '../support/tcp-proxy.ts'
import { it } from '../support/test-database.ts'
import { until } from '../support/until.ts'
import { killWorker, readMetrics, startWorker, untilReady } from '../verify/worker-fixtures.ts'

const NOWHERE = 'http://127.0.0.1:9'

/** One series that only the process shows which tells of the whole system. */
async function showsSystem(worker: RunningCommand): Promise<boolean> {
  const text = await readMetrics(worker)
  const shows = /^farewatch_routes_live /m.test(text)
  // Whatever they show, they say whether it is theirs.
  expect(text).toMatch(shows ? /^farewatch_leader 1$/m : /^farewatch_leader 0$/m)
  return shows
}

async function twoWorkers(databaseUrl: string): Promise<[RunningCommand, RunningCommand]> {
  const first = startWorker({ databaseUrl, upstreamUrl: NOWHERE })
  await untilReady(first)
  const second = startWorker({ databaseUrl, upstreamUrl: NOWHERE })
  await untilReady(second)
  return [first, second]
}

describe('the gauges of the whole system', () => {
  it('are shown by one of two processes, and by the other when that one is killed', async ({
    db,
    databaseUrl,
  }) => {
    await sync(db, manyRoutes(1_234))
    const [first, second] = await twoWorkers(databaseUrl)
    await until('the first shows them', () => showsSystem(first))
    expect(await showsSystem(second)).toBe(false)

    first.child.kill('SIGKILL')

    await until('the other shows them', () => showsSystem(second))
    const text = await readMetrics(second)
    expect(text).toContain('farewatch_routes_live 1234')
    expect(text).toContain('farewatch_sync_interval_seconds{list="routes"} 31622400')
    expect(text).toContain('farewatch_queue_depth{queue="verify",state="dead"} 0')
  })

  it('are shown by a process without workers too, with the depth of the queues', async ({
    db,
    databaseUrl,
  }) => {
    const worker = startWorker({ databaseUrl, upstreamUrl: NOWHERE })
    await untilReady(worker)
    await killWorker(db, worker)
    const api = startFarewatch(['api'], {
      DATABASE_URL: databaseUrl,
      UPSTREAM_BASE_URL: NOWHERE,
      API_PORT: '0',
      ADMIN_PORT: '0',
    })
    onTestFinished(() => void api.child.kill('SIGKILL'))
    await untilReady(api)

    await until('it shows them', () => showsSystem(api))
    expect(await readMetrics(api)).toContain('farewatch_queue_depth{queue="ticks",state="delayed"}')
  })

  it('stay as they were while they take longer to read than a scrape waits', async ({
    database,
    databaseUrl,
  }) => {
    const worker = startWorker({ databaseUrl, upstreamUrl: NOWHERE })
    await untilReady(worker)
    await until('it shows them', () => showsSystem(worker))
    const blocker = await database.pool.connect()
    await blocker.query('begin; lock table feed_head in access exclusive mode')

    const slow = await until('a scrape that waited', async () => {
      const askedAt = Date.now()
      const shown = await showsSystem(worker)
      return Date.now() - askedAt > 1_500 && { shown }
    })

    expect(slow.shown).toBe(true)
    await blocker.query('rollback')
    blocker.release()
  })

  it.runIf(hasPrometheus())(
    'and all others hold to the conventions of Prometheus',
    async ({ databaseUrl }) => {
      const worker = startWorker({ databaseUrl, upstreamUrl: NOWHERE })
      await untilReady(worker)

      const input = await readMetrics(worker)

      expect(promtool(['check', 'metrics'], { input })).toEqual({ exit: 0, output: '' })
      expect(input).toMatch(/^farewatch_db_up 1$/m)
      expect(input).toMatch(/^farewatch_clock_skew_seconds\{store="queue"\} /m)
    },
  )

  it('are not shown while the database is away, and everything else is', async ({
    databaseUrl,
  }) => {
    const { hostname, port } = new URL(databaseUrl)
    const door = await createTcpProxy({ host: hostname, port: Number(port) })
    onTestFinished(() => door.close())
    const through = new URL(databaseUrl)
    through.host = `127.0.0.1:${door.port}`
    const worker = startWorker({ databaseUrl: through.href, upstreamUrl: NOWHERE })
    await untilReady(worker)
    await until('it shows them', () => showsSystem(worker))

    await door.shut()

    const text = await until('none of them', async () => {
      const shown = await readMetrics(worker)
      return !shown.includes('farewatch_routes_live') && shown
    })
    expect(text).toMatch(/^farewatch_db_up 0$/m)
    expect(text).toMatch(/^farewatch_build_info\{/m)
    await door.open()
    await until('the gauges are back', () => showsSystem(worker))
  })
})
