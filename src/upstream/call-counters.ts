import type { Metrics } from '../metrics/metrics.ts'
import type { QuickRetry } from './attempt.ts'
import type { UpstreamCall } from './call-record.ts'
import { QUICK_RETRY_OUTCOMES } from './quick-retry.ts'
import { ANOMALIES } from './upstream-metrics.ts'

export interface CallCounters {
  readonly observe: (call: UpstreamCall) => void
  readonly onQuickRetry: (retry: QuickRetry) => void
}

/** Counts the calls of a client in the metrics; every label of a closed set begins at 0. */
export function countCalls(metrics: Metrics): CallCounters {
  for (const endpoint of Object.keys(ANOMALIES)) {
    metrics.rateLimited.inc({ endpoint }, 0)
    for (const outcome of QUICK_RETRY_OUTCOMES) metrics.quickRetries.inc({ endpoint, outcome }, 0)
  }
  return {
    observe: ({ endpoint, outcome, durationMs }) => {
      if (outcome === 'upstream.rate_limited') metrics.rateLimited.inc({ endpoint })
      metrics.upstreamRequests.inc({ endpoint, outcome })
      metrics.upstreamDuration.observe({ endpoint }, durationMs / 1000)
    },
    onQuickRetry: ({ endpoint, outcome }) => metrics.quickRetries.inc({ endpoint, outcome }),
  }
}
