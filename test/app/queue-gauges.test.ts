import { describe, expect, it } from 'vitest'
import { JOB_QUEUES, QUEUES, readDepth, setQueueGauges } from '../../src/app/queue-state.ts'
import { createMetrics } from '../../src/metrics/metrics.ts'

/** The counts of every queue after an outage of the database. */
const queue = {
  counts: async () => ({ waiting: 1, active: 2, delayed: 5, failed: 50, completed: 9 }),
  facts: async () => ({ clockSkewMs: 0 }),
}

describe('the depth of the queues', () => {
  it('never counts a tick as dead, because the next tick does its work', async () => {
    const depths = await Promise.all(QUEUES.map((name) => readDepth(queue, name)))

    const dead = Object.fromEntries(depths.map((depth) => [depth.queue, depth.dead]))
    expect(dead).toEqual({ ticks: 0, 'route-sync': 50, verify: 50 })
    expect(depths[0]).toEqual({ queue: 'ticks', waiting: 1, active: 2, delayed: 5, dead: 0 })
    expect(JOB_QUEUES).toEqual(['route-sync', 'verify'])
  })

  it('is the same in the metric that the alert uses', async () => {
    const metrics = createMetrics()

    await setQueueGauges(queue, metrics)

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
