import { expect, it } from 'vitest'
import { API_OPERATIONS } from '../../src/app/api-operations.ts'
import { requestCounter } from '../../src/app/count-work.ts'
import { createMetrics } from '../../src/platform/metrics/metrics.ts'

it('the counters of every operation begin at 0', async () => {
  const metrics = createMetrics()
  const count = requestCounter(metrics)
  const before = await metrics.apiRequests.get()

  count({ operation: 'listRoutes', status: 304, code: '', durationMs: 2 })
  count({ operation: 'listRoutes', status: 304, code: '', durationMs: 4 })

  expect(before.values.map(({ value }) => value)).toEqual(API_OPERATIONS.map(() => 0))
  expect((await metrics.apiRequests.get()).values).toContainEqual({
    labels: { operation: 'listRoutes', status: '304', code: '' },
    value: 2,
  })
  const { values } = await metrics.apiDuration.get()
  expect(values).toContainEqual(
    expect.objectContaining({
      metricName: 'farewatch_api_request_duration_seconds_sum',
      labels: { operation: 'listRoutes' },
      value: 0.006,
    }),
  )
})
