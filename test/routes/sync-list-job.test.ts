import { expect, it } from 'vitest'
import { createMetrics } from '../../src/platform/metrics/metrics.ts'
import { NO_COUNTS } from '../../src/routes/runs.ts'
import { reportSyncFinished } from '../../src/routes/sync.ts'
import { collectLog } from '../support/collected-log.ts'

it('the log line of a run holds its counts and no nulls', () => {
  const { log, lines } = collectLog()
  const reason = { code: 'upstream.timeout', text: 'no answer within 60 s' }

  reportSyncFinished(
    { metrics: createMetrics(), log },
    {
      ...NO_COUNTS,
      fetched: 0,
      runId: 7,
      list: 'routes',
      status: 'failed',
      baseline: false,
      reason,
      durationsMs: { fetch: 60_000 },
    },
  )

  const { time, ...line } = JSON.parse(lines[0] ?? '') as Record<string, unknown>
  expect(line).toEqual({
    level: 'warn',
    fetched: 0,
    runId: 7,
    list: 'routes',
    status: 'failed',
    baseline: false,
    reason,
    durationsMs: { fetch: 60_000 },
    msg: 'route sync finished',
  })
})
