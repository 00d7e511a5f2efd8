import type { Db } from '../platform/db/database.ts'
import type { Metrics } from '../platform/metrics/metrics.ts'
import { QUICK_RETRY_OUTCOMES, type QuickRetry, type UpstreamCall } from './attempt.ts'
import { listBreakers } from './breaker/breaker-state.ts'
import { readHealth } from './breaker/circuit-breaker.ts'
import { ANSWER_ANOMALIES } from './observation.ts'
import { NO_COUNTS, type RouteListBody, type RouteListCounts } from './route-list.ts'
import { UpstreamContractError } from './upstream-errors.ts'

const LIST_ANOMALIES = [
  'broken_list',
  ...(Object.keys(NO_COUNTS) as (keyof RouteListCounts)[]),
] as const

/**
 * The deviations from the contract that do not stop us, by endpoint: the label values of
 * `farewatch_upstream_anomalies_total`. docs/reference/upstream.md describes each.
 */
export const ANOMALIES = {
  routes: LIST_ANOMALIES,
  'with-availability': LIST_ANOMALIES,
  verify: ANSWER_ANOMALIES,
} as const

export type UpstreamEndpoint = keyof typeof ANOMALIES
type Anomaly = (typeof ANOMALIES)[UpstreamEndpoint][number]
/** How often one answer had each anomaly. Absent anomalies may be missing. */
export type AnomalyCounts = Partial<Record<Anomaly, number>>
export type ObserveAnomalies = (endpoint: UpstreamEndpoint, counts: AnomalyCounts) => void

/** Counts anomalies in the metric. Every label begins at 0. */
export function anomalyCounter({
  contractAnomalies,
}: Pick<Metrics, 'contractAnomalies'>): ObserveAnomalies {
  for (const [endpoint, anomalies] of Object.entries(ANOMALIES)) {
    for (const anomaly of anomalies) contractAnomalies.inc({ endpoint, anomaly }, 0)
  }
  return (endpoint, counts) => {
    for (const [anomaly, count] of Object.entries(counts)) {
      if (count > 0) contractAnomalies.inc({ endpoint, anomaly }, count)
    }
  }
}

/** Reports a list's anomalies once, after the first reading. A retried transaction reads the list again. */
export function observedList(
  body: RouteListBody | null,
  endpoint: UpstreamEndpoint,
  observe: ObserveAnomalies | undefined,
): RouteListBody | null {
  if (body === null || observe === undefined) return body
  let reported = false
  return {
    ...body,
    onRead(counts: RouteListCounts, failure?: unknown) {
      const broken_list = failure instanceof UpstreamContractError ? 1 : 0
      if (!reported) observe(endpoint, { broken_list, ...counts })
      reported = true
    },
  }
}

/** Counts the calls of a client in the metrics. Labels with a closed set of values begin at 0. */
export function countCalls(metrics: Metrics): {
  readonly observe: (call: UpstreamCall) => void
  readonly onQuickRetry: (retry: QuickRetry) => void
} {
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

/** Sets the gauges of the upstream's health from the database. */
export async function setHealthGauges(db: Db, metrics: Metrics): Promise<void> {
  const { breakers, pausedUntilMs, share } = await readHealth(db)
  for (const { endpoint, breaker, open } of listBreakers(breakers)) {
    metrics.upstreamBreakerOpen.set({ endpoint, breaker }, open === null ? 0 : 1)
  }
  metrics.upstreamPausedUntil.set(pausedUntilMs / 1000)
  metrics.upstreamBudgetRatio.set(share)
}
