import { expect, it } from 'vitest'
import { countRuns } from '../../src/app/count-work.ts'
import { systemClock } from '../../src/platform/base/clock.ts'
import { createMetrics } from '../../src/platform/metrics/metrics.ts'

const NOW = new Date('2026-01-31T12:00:00Z')

it('the metric of a loop or of periodic work begins with the start of the process and is updated when a run succeeds', async () => {
  const metrics = createMetrics()
  let now = NOW
  const failures = [new Error('canceling statement')]
  const run = countRuns(
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
  await expect(run(signal)).rejects.toThrow('canceling statement')
  const afterFailure = await succeededAt()
  await run(signal)

  expect(afterFailure).toBe(NOW.getTime() / 1000)
  expect(await succeededAt()).toBe(NOW.getTime() / 1000 + 60)
  expect((await metrics.tickInterval.get()).values).toMatchObject([
    { labels: { tick: 'expire-fares' }, value: 60 },
  ])
})
