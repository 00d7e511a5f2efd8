import { describe, expect, onTestFinished } from 'vitest'
import { manyRoutes, sync } from '../route-sync/sync-fixtures.ts'
import { type RunningCommand, startFarewatch } from '../support/child-process.ts'
import { hasPrometheus, promtool } from '../support/promtool.ts'
import { createTcpProxy } from '../support/tcp-proxy.ts'
import { it } from '../support/test-database.ts'
import { until } from '../support/until.ts'
import { killWorker, readMetrics, startWorker, untilReady } from '../verify/worker-fixtures.ts'

const NOWHERE = 'http://127.0.0.1:9'

/** Whether the process exports the gauges of the whole system, by one of them. */
async function exportsSystem(worker: RunningCommand): Promise<boolean> {
  return /^farewatch_routes_live /m.test(await readMetrics(worker))
}

describe('the gauges of the whole system', () => {
  it('are exported by every process with the same values', async ({ db, databaseUrl }) => {
    await sync(db, manyRoutes(1_234))
    const workers = [1, 2].map(() => startWorker({ databaseUrl, upstreamUrl: NOWHERE }))

    for (const worker of workers) {
      await untilReady(worker)
      await until('the gauges', () => exportsSystem(worker))
      const text = await readMetrics(worker)
      expect(text).toContain('farewatch_routes_live 1234')
      expect(text).toContain('farewatch_sync_interval_seconds{list="routes"} 31622400')
      expect(text).toContain('farewatch_queue_depth{queue="verify",state="dead"} 0')
      expect(text).toMatch(/^farewatch_db_size_bytes [1-9]/m)
      expect(text).toMatch(/^farewatch_db_disk_free_bytes [1-9]/m)
      expect(text).not.toMatch(/^farewatch_redis_memory/m)
    }
  })

  it('are exported by a process without workers too, with the depth of the queues', async ({
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

    await until('the gauges', () => exportsSystem(api))
    expect(await readMetrics(api)).toContain('farewatch_queue_depth{queue="ticks",state="delayed"}')
  })

  it('keep their values while a reading is slow, and disappear when it times out', async ({
    database,
    databaseUrl,
  }) => {
    const worker = startWorker({ databaseUrl, upstreamUrl: NOWHERE })
    await untilReady(worker)
    await until('the gauges', () => exportsSystem(worker))
    const blocker = await database.pool.connect()
    await blocker.query('begin; lock table feed_head in access exclusive mode')

    const slow = await until('a scrape that waited', async () => {
      const askedAt = Date.now()
      const shown = await exportsSystem(worker)
      return Date.now() - askedAt > 1_500 && { shown }
    })

    expect(slow.shown).toBe(true)
    await until('no gauges', async () => !(await exportsSystem(worker)))
    await blocker.query('rollback')
    blocker.release()
    await until('the gauges are back', () => exportsSystem(worker))
  })

  it.runIf(hasPrometheus())(
    'and all other metrics follow the conventions of Prometheus',
    async ({ databaseUrl }) => {
      const worker = startWorker({ databaseUrl, upstreamUrl: NOWHERE })
      await untilReady(worker)

      const input = await readMetrics(worker)

      expect(promtool(['check', 'metrics'], { input })).toEqual({ exit: 0, output: '' })
      expect(input).toMatch(/^farewatch_db_up 1$/m)
      expect(input).toMatch(/^farewatch_clock_skew_seconds\{store="queue"\} /m)
    },
  )

  it('are not exported while the database is down, and all other metrics are', async ({
    databaseUrl,
  }) => {
    const { hostname, port } = new URL(databaseUrl)
    const proxy = await createTcpProxy({ host: hostname, port: Number(port) })
    onTestFinished(() => proxy.close())
    const through = new URL(databaseUrl)
    through.host = `127.0.0.1:${proxy.port}`
    const worker = startWorker({ databaseUrl: through.href, upstreamUrl: NOWHERE })
    await untilReady(worker)
    await until('the gauges', () => exportsSystem(worker))

    await proxy.shut()

    const text = await until('none of them', async () => {
      const shown = await readMetrics(worker)
      return !shown.includes('farewatch_routes_live') && shown
    })
    expect(text).toMatch(/^farewatch_db_up 0$/m)
    expect(text).toMatch(/^farewatch_build_info\{/m)
    await proxy.open()
    await until('the gauges are back', () => exportsSystem(worker))
  })
})
