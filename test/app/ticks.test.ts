import { describe, expect, it } from 'vitest'
import { countTick } from '../../src/app/count-work.ts'
import { failingTicks } from '../../src/app/queue-state.ts'
import { systemClock } from '../../src/base/clock.ts'
import { createMetrics } from '../../src/metrics/metrics.ts'
import type { JobState, QueuedJob } from '../../src/queue/queue-system.ts'

const NOW = new Date('2026-01-31T12:00:00Z')

interface Ended {
  readonly name: string
  readonly secondsAgo: number
  readonly failure?: string
}

/** A queue that has records of these ticks. */
function remembering(...ticks: readonly Ended[]) {
  return {
    jobs: async (queue: string, state: JobState): Promise<QueuedJob[]> =>
      ticks
        .filter(({ failure }) => (failure === undefined) === (state === 'done'))
        .map(({ name, secondsAgo, failure = null }) => {
          const endedAt = new Date(NOW.getTime() - 1000 * secondsAgo)
          const ended = { enqueuedAt: endedAt, startedAt: endedAt, endedAt, attempts: 1 }
          return { id: `${name}:${secondsAgo}`, queue, state, name, payload: {}, failure, ...ended }
        }),
  }
}

describe('failing ticks', () => {
  it('are listed although all others succeed', async () => {
    const queue = remembering(
      { name: 'cancel-analysts', secondsAgo: 1 },
      { name: 'settle-incidents', secondsAgo: 3 },
      { name: 'expire-fares', secondsAgo: 40, failure: 'canceling statement' },
      { name: 'expire-fares', secondsAgo: 100, failure: 'canceling statement' },
      { name: 'prune', secondsAgo: 3_000, failure: 'no space left' },
    )

    const failing = await failingTicks(queue, NOW)

    expect(failing.map(({ name, failure }) => [name, failure])).toEqual([
      ['expire-fares', 'canceling statement'],
      ['prune', 'no space left'],
    ])
  })

  it('exclude ticks that have succeeded since, or may have', async () => {
    const queue = remembering(
      { name: 'cancel-analysts', secondsAgo: 1 },
      { name: 'cancel-analysts', secondsAgo: 2, failure: 'deadlock detected' },
      // The records of its next run may have been overwritten by more frequent ticks.
      { name: 'end-watches', secondsAgo: 90, failure: 'deadlock detected' },
    )

    expect(await failingTicks(queue, NOW)).toEqual([])
  })
})

describe('the tick metric', () => {
  it('begins with the start of the process and is updated when a tick succeeds', async () => {
    const metrics = createMetrics()
    let now = NOW
    const failures = [new Error('canceling statement')]
    const tick = countTick(
      { metrics, clock: { ...systemClock, now: () => now } },
      {
        name: 'expire-fares',
        everyMs: 60_000,
        run: async () => {
          const failure = failures.pop()
          if (failure !== undefined) throw failure
        },
      },
    )
    const succeededAt = async () => (await metrics.tickLastSuccess.get()).values[0]?.value
    const { signal } = new AbortController()

    now = new Date(NOW.getTime() + 60_000)
    await expect(tick.run(signal)).rejects.toThrow('canceling statement')
    const afterFailure = await succeededAt()
    await tick.run(signal)

    expect(afterFailure).toBe(NOW.getTime() / 1000)
    expect(await succeededAt()).toBe(NOW.getTime() / 1000 + 60)
    expect((await metrics.tickInterval.get()).values).toMatchObject([
      { labels: { tick: 'expire-fares' }, value: 60 },
    ])
  })
})
