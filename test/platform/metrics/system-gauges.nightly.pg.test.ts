import { describe, expect, onTestFinished } from 'vitest'
import { exportsSystem, readMetrics, startWorker, untilReady } from '../../fares/worker-fixtures.ts'
import { createTcpProxy } from '../../support/tcp-proxy.ts'
import { it } from '../../support/test-database.ts'
import { until } from '../../support/until.ts'

const NOWHERE = 'http://127.0.0.1:9'

describe('the gauges of the whole system', () => {
  // Fault: A reading of gauges waits for a lock. They keep their last values, and an alert reports how old they are.
  it('keep their values while a reading waits for a lock, also when that takes too long', async ({
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
    await until('a reading that failed', async () => {
      await exportsSystem(worker)
      return worker.stdout().includes('cannot read the gauges of the whole system')
    })
    const kept = await exportsSystem(worker)
    await blocker.query('rollback')
    blocker.release()
    expect(kept).toBe(true)
  })

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
