import { describe, expect, it } from 'vitest'
import { OWED_QUEUES, QUEUES, readDepth, readQueueGauges } from '../../src/app/queue-gauges.ts'
import { createMetrics } from '../../src/metrics/metrics.ts'

/** Of every queue: what an outage of the database leaves behind. */
const queue = {
  counts: async () => ({ waiting: 1, active: 2, delayed: 5, failed: 50, completed: 9 }),
}

describe('the depth of the queues', () => {
  it('counts no tick as dead: the next one makes up for it', async () => {
    const depths = await Promise.all(QUEUES.map((name) => readDepth(queue, name)))

    const dead = Object.fromEntries(depths.map((depth) => [depth.queue, depth.dead]))
    expect(dead).toEqual({ ticks: 0, 'route-sync': 50, verify: 50 })
    expect(depths[0]).toEqual({ queue: 'ticks', waiting: 1, active: 2, delayed: 5, dead: 0 })
    expect(OWED_QUEUES).toEqual(['route-sync', 'verify'])
  })

  it('is shown so to whoever is woken by it', async () => {
    const metrics = createMetrics()

    await readQueueGauges(queue, metrics)

    const { values } = await metrics.queueDepth.get()
    const dead = values.filter(({ labels }) => labels.state === 'dead')
    expect(dead.map(({ labels, value }) => [labels.queue, value])).toEqual([
      ['ticks', 0],
      ['route-sync', 50],
      ['verify', 50],
    ])
    expect(values).toHaveLength(4 * QUEUES.length)
  })
})
