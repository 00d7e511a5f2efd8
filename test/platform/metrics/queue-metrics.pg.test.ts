import { afterEach, expect, it } from 'vitest'
import { countJobs } from '../../../src/app/count-work.ts'
import { QUEUES, setQueueGauges } from '../../../src/app/queue-state.ts'
import { createMetrics, type Metrics } from '../../../src/platform/metrics/metrics.ts'
import { until } from '../../support/until.ts'
import { aQueue, createSystems, FAST_WORK, untilCounts, YEARLY } from '../queue/queue-fixtures.ts'
import { describeStores } from '../queue/queue-stores.ts'

/** One value of a metric, by the name of its series and its labels. */
async function read(
  metric: Pick<Metrics['queueWait'], 'get'>,
  labels: Readonly<Record<string, string>>,
  suffix = '',
): Promise<number | undefined> {
  const { name, values } = (await metric.get()) as unknown as {
    name: string
    values: { metricName?: string; labels: Record<string, string>; value: number }[]
  }
  const found = values.find(({ metricName = name, labels: has }) => {
    if (metricName !== `${name}${suffix}`) return false
    return Object.entries(labels).every(([label, value]) => has[label] === value)
  })
  return found?.value
}

describeStores('the metrics of the queue', (store) => {
  const systems = createSystems(store)
  afterEach(systems.closeAll)

  it('measure how long a job waited for its first attempt, and how long attempts last', async () => {
    const system = systems.open()
    const metrics = createMetrics()
    const queue = aQueue()
    let attempts = 0
    const beforeMs = Date.now()
    await system.enqueue(queue, { payload: {} })
    await system.enqueue(queue, { payload: {} })
    const enqueuedAt = Date.now()
    await until('a while', () => Date.now() - enqueuedAt > 1_000)

    const handler = countJobs(metrics, queue, async () => {
      attempts += 1
      if (attempts === 1) throw new Error('once more')
    })
    await system.work(queue, handler, FAST_WORK)
    await untilCounts(system, queue, { completed: 2 })

    expect(await read(metrics.queueWait, { queue }, '_count')).toBe(2)
    const waited = (await read(metrics.queueWait, { queue }, '_sum')) ?? 0
    // Both waited since they were enqueued.
    expect(waited).toBeGreaterThan(1.5)
    expect(waited).toBeLessThan((2 * (Date.now() - beforeMs)) / 1000)
    expect(await read(metrics.queueJobDuration, { queue }, '_count')).toBe(3)
    expect(await read(metrics.queueJobs, { queue, outcome: 'done' })).toBe(2)
    expect(await read(metrics.queueJobs, { queue, outcome: 'failed' })).toBe(1)
  })

  it('hold the depth of every queue by state and the memory of Redis, and nothing while the store is down', async () => {
    const system = systems.open()
    const metrics = createMetrics()
    const [syncs] = QUEUES
    await system.enqueue(syncs, { payload: { n: 1 } })
    await system.reconcile(syncs, [YEARLY])

    await setQueueGauges(system, metrics)

    const depth = (state: string) => read(metrics.queueDepth, { queue: syncs, state })
    expect(await depth('waiting')).toBe(1)
    expect(await depth('delayed')).toBe(1)
    expect(await depth('dead')).toBe(0)
    const memory = () => read(metrics.redisMemoryUsed, {})
    const ofRedis = system.kind === 'redis' ? expect.any(Number) : undefined
    expect(await memory()).toEqual(ofRedis)
    expect(await read(metrics.redisMemoryMax, {})).toEqual(ofRedis)
    const unavailable = () => Promise.reject(new Error('unavailable'))
    const down = { counts: unavailable, facts: unavailable, schedulers: unavailable }
    await setQueueGauges(down, metrics)
    expect(await depth('waiting')).toBeUndefined()
    expect(await memory()).toBeUndefined()
  })
})
