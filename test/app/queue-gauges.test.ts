import { describe, expect, it } from 'vitest'
import { QUEUES, readDepth, setQueueGauges } from '../../src/app/queue-state.ts'
import { createMetrics } from '../../src/platform/metrics/metrics.ts'

/** The counts of every queue after an outage of the database. */
const queue = {
  counts: async () => ({ waiting: 1, active: 2, delayed: 5, failed: 50, completed: 9 }),
  facts: async () => ({ clockSkewMs: 0 }),
  schedulers: async () => [],
}

describe('the depth of the queues', () => {
  it('counts the jobs of a queue by state', async () => {
    const depth = await readDepth(queue, QUEUES[0])

    expect(depth).toEqual({ queue: 'route-sync', waiting: 1, active: 2, delayed: 5, dead: 50 })
  })

  it('is the same in the metric that the alert uses', async () => {
    const metrics = createMetrics()

    await setQueueGauges(queue, metrics)

    const { values } = await metrics.queueDepth.get()
    const dead = values.filter(({ labels }) => labels.state === 'dead')
    expect(dead.map(({ labels, value }) => [labels.queue, value])).toEqual([
      ['route-sync', 50],
      ['verify', 50],
      // The next run repeats what failed.
      ['periodic', 0],
    ])
    expect(values).toHaveLength(4 * QUEUES.length)
  })
})
