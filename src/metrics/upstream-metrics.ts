import { Counter, Gauge, Histogram, type Registry } from 'prom-client'

/** For requests to the upstream, in seconds: from a cached answer to the timeout of a list. */
export const REQUEST_BUCKETS_S = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120]

export function upstreamMetrics(registers: Registry[]) {
  return {
    upstreamRequests: new Counter({
      name: 'farewatch_upstream_requests_total',
      help: 'Requests to the upstream by outcome: ok, aborted (by us), internal (a bug of ours) or an error code. upstream.not_modified, upstream.http_4xx and upstream.id_missing count as answers, as ok does.',
      labelNames: ['endpoint', 'outcome'],
      registers,
    }),
    upstreamDuration: new Histogram({
      name: 'farewatch_upstream_request_duration_seconds',
      help: 'Duration of requests to the upstream, body included.',
      labelNames: ['endpoint'],
      buckets: REQUEST_BUCKETS_S,
      registers,
    }),
    rateLimited: new Counter({
      name: 'farewatch_upstream_rate_limited_total',
      help: 'Requests that the upstream answered with 429.',
      labelNames: ['endpoint'],
      registers,
    }),
    quickRetries: new Counter({
      name: 'farewatch_upstream_quick_retries_total',
      help: 'Second requests after a failure that may pass: mended, failed, or no_slot where none was near.',
      labelNames: ['endpoint', 'outcome'],
      registers,
    }),
    contractAnomalies: new Counter({
      name: 'farewatch_upstream_contract_oddities_total',
      help: 'Anomalies of accepted answers, by endpoint; docs/reference/upstream.md describes each.',
      labelNames: ['endpoint', 'oddity'],
      registers,
    }),
  }
}

/** Of the whole system: the shared health of the upstream. */
export function upstreamGauges(registers: Registry[]) {
  return {
    upstreamBreakerOpen: new Gauge({
      name: 'farewatch_upstream_breaker_open',
      help: '1 while a circuit breaker blocks all requests to a group of endpoints except single probes.',
      labelNames: ['endpoint', 'breaker'],
      registers,
    }),
    upstreamPausedUntil: new Gauge({
      name: 'farewatch_upstream_paused_until_timestamp_seconds',
      help: 'The end of the last pause that the upstream asked for; 0 if it never asked for one.',
      registers,
    }),
    upstreamBudgetRatio: new Gauge({
      name: 'farewatch_upstream_budget_ratio',
      help: 'The part of the budget that may be spent now: 0 during a pause, below 1 after a 429 until it has grown back.',
      registers,
    }),
  }
}
