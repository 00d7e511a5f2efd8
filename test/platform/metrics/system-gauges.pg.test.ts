import { describe, expect, onTestFinished } from 'vitest'
import {
  exportsSystem,
  killWorker,
  readMetrics,
  startWorker,
  untilReady,
} from '../../fares/worker-fixtures.ts'
import { manyRoutes, sync } from '../../routes/sync-fixtures.ts'
import { startFarewatch } from '../../support/child-process.ts'
import { hasPrometheus, promtool } from '../../support/promtool.ts'
import { it } from '../../support/test-database.ts'
import { until } from '../../support/until.ts'

const NOWHERE = 'http://127.0.0.1:9'

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
    expect(await readMetrics(api)).toContain(
      'farewatch_queue_depth{queue="verify",state="delayed"}',
    )
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
})
