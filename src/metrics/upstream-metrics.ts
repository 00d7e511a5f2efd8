import { Counter, Gauge, Histogram, type Registry } from 'prom-client'
import { REQUEST_BUCKETS_S } from './request-buckets.ts'

export function upstreamMetrics(registers: Registry[]) {
  return {
    upstreamRequests: new Counter({
      name: 'farewatch_upstream_requests_total',
      help: 'Requests to the upstream, by endpoint and outcome.',
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
      help: 'Calls of this process that the upstream answered by 429, by endpoint.',
      labelNames: ['endpoint'],
      registers,
    }),
    quickRetries: new Counter({
      name: 'farewatch_upstream_quick_retries_total',
      help: 'Failures that might pass: asked again and mended, asked again and failed, or no slot was near.',
      labelNames: ['endpoint', 'outcome'],
      registers,
    }),
    contractAnomalies: new Counter({
      name: 'farewatch_upstream_contract_oddities_total',
      help: 'What answers had beside the contract without being refused for it, by endpoint; docs/reference/upstream.md tells each.',
      labelNames: ['endpoint', 'oddity'],
      registers,
    }),
  }
}

/** Of the whole system: what all processes share of the upstream's health. */
export function upstreamGauges(registers: Registry[]) {
  return {
    upstreamBreakerOpen: new Gauge({
      name: 'farewatch_upstream_breaker_open',
      help: '1 while a breaker keeps the calls of a group of endpoints back, but for single probes.',
      labelNames: ['endpoint', 'breaker'],
      registers,
    }),
    upstreamPausedUntil: new Gauge({
      name: 'farewatch_upstream_paused_until_timestamp_seconds',
      help: 'Until when the upstream last asked us to pause; 0 where it never did.',
      registers,
    }),
    upstreamBudgetRatio: new Gauge({
      name: 'farewatch_upstream_budget_ratio',
      help: 'The part of the budget that may be spent now: 0 during a pause, below 1 after a 429 until it has grown back.',
      registers,
    }),
  }
}
