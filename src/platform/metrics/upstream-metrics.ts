import { ROUTE_CHANGE_KINDS } from '../base/change-kinds.ts'
import { ROUTE_LISTS, RUN_OUTCOMES } from '../base/kinds.ts'
import type { Declare } from './declare.ts'

/** For requests to the upstream, in seconds: from a cached answer to the timeout of a list. */
export const REQUEST_BUCKETS_S = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120]

const ENDPOINTS = [...ROUTE_LISTS, 'verify']
/** The outcomes of a call to any endpoint. */
const CALL_OUTCOMES = [
  'ok',
  'aborted',
  'internal',
  'upstream.timeout',
  'upstream.network',
  'upstream.http_4xx',
  'upstream.http_5xx',
  'upstream.rate_limited',
  'upstream.auth',
  'upstream.redirect',
  'upstream.too_large',
  'upstream.contract_violation',
]
const LIST_OUTCOMES = [...CALL_OUTCOMES, 'upstream.not_modified']
const VERIFY_OUTCOMES = [
  ...CALL_OUTCOMES,
  'upstream.malformed',
  'upstream.id_missing',
  'upstream.other_flight',
  'upstream.other_passengers',
]

export function upstreamMetrics({ counter, histogram }: Declare) {
  const metrics = {
    upstreamRequests: counter(
      'farewatch_upstream_requests_total',
      'Requests to the upstream by outcome: ok, aborted (by us), internal (a bug of ours) or an error code. upstream.not_modified, upstream.http_4xx and upstream.id_missing count as answers, as ok does.',
      { endpoint: [], outcome: [] },
    ),
    upstreamDuration: histogram(
      'farewatch_upstream_request_duration_seconds',
      'Duration of requests to the upstream, body included.',
      { buckets: REQUEST_BUCKETS_S, labels: { endpoint: ENDPOINTS } },
    ),
    rateLimited: counter(
      'farewatch_upstream_rate_limited_total',
      'Requests that the upstream answered with 429.',
      { endpoint: [] },
    ),
    quickRetries: counter(
      'farewatch_upstream_quick_retries_total',
      'Second requests after a failure that may pass: recovered, failed, or no_slot where none was near.',
      { endpoint: [], outcome: [] },
    ),
    contractAnomalies: counter(
      'farewatch_upstream_anomalies_total',
      'Anomalies of accepted answers, by endpoint; docs/reference/upstream.md describes each.',
      { endpoint: [], anomaly: [] },
    ),
  }
  for (const endpoint of ENDPOINTS) {
    const outcomes = endpoint === 'verify' ? VERIFY_OUTCOMES : LIST_OUTCOMES
    for (const outcome of outcomes) metrics.upstreamRequests.inc({ endpoint, outcome }, 0)
  }
  return metrics
}

/** Of the whole system: the shared health of the upstream. */
export function upstreamGauges({ gauge }: Declare) {
  return {
    upstreamBreakerOpen: gauge(
      'farewatch_upstream_breaker_open',
      '1 while a circuit breaker blocks all requests to a group of endpoints except single probes.',
      ['endpoint', 'breaker'],
    ),
    upstreamPausedUntil: gauge(
      'farewatch_upstream_paused_until_timestamp_seconds',
      'The end of the last pause that the upstream asked for; 0 if it never asked for one.',
    ),
    upstreamBudgetRatio: gauge(
      'farewatch_upstream_budget_ratio',
      'The part of the budget that may be spent now: 0 during a pause, below 1 after a 429 until it has grown back.',
    ),
  }
}

const STAGE_BUCKETS_S = [0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 120, 300]

export function syncMetrics({ counter, histogram }: Declare) {
  return {
    syncRuns: counter('farewatch_sync_runs_total', 'Finished runs of a route list, by status.', {
      list: ROUTE_LISTS,
      status: RUN_OUTCOMES,
    }),
    syncReviews: counter(
      'farewatch_sync_reviews_total',
      'Held lists that agree with none before, so that each needs a review.',
      { list: ROUTE_LISTS },
    ),
    syncStageDuration: histogram(
      'farewatch_sync_stage_duration_seconds',
      'Duration of each stage of a run: fetch, stage, diff, apply.',
      {
        buckets: STAGE_BUCKETS_S,
        labels: { list: ROUTE_LISTS, stage: ['fetch', 'stage', 'diff', 'apply'] },
      },
    ),
    routeChanges: counter(
      'farewatch_route_changes_total',
      'Changes of routes and places that runs of this process applied, by kind.',
      { kind: ROUTE_CHANGE_KINDS },
    ),
    syncReturned: counter(
      'farewatch_sync_returned_total',
      'Routes that were absent from a list and returned before the absence was confirmed.',
      { list: ROUTE_LISTS },
    ),
    syncListFaults: counter(
      'farewatch_sync_list_faults_total',
      'Anomalies of accepted lists: duplicate, conflicting_place, unknown_pair (a pair that is not among the routes).',
      { list: ROUTE_LISTS, fault: ['duplicate', 'conflicting_place', 'unknown_pair'] },
    ),
  }
}

/** Of the whole system: read from the database, so correct after a restart and for runs of any process. */
export function syncGauges(declare: Declare) {
  return { ...runGauges(declare), ...routeGauges(declare) }
}

function runGauges({ gauge }: Declare) {
  return {
    syncLastSuccess: gauge(
      'farewatch_sync_last_success_timestamp_seconds',
      'When the last accepted list arrived; 0 before the first.',
      ['list'],
    ),
    syncLastAttempt: gauge(
      'farewatch_sync_last_attempt_timestamp_seconds',
      'When the last run of a list began; 0 before the first.',
      ['list'],
    ),
    syncInterval: gauge(
      'farewatch_sync_interval_seconds',
      'The longest time between two due times of a list.',
      ['list'],
    ),
    syncHeld: gauge('farewatch_sync_held_runs', 'Runs that are held and wait for a decision.', [
      'list',
    ]),
    syncRunsRecorded: gauge(
      'farewatch_sync_runs_recorded',
      'Recorded runs by their present status; an approved or dropped run was held before.',
      ['list', 'status'],
    ),
  }
}

function routeGauges({ gauge }: Declare) {
  return {
    routesLive: gauge('farewatch_routes_live', 'Live routes.'),
    routesAvailable: gauge(
      'farewatch_routes_available',
      'Live routes that are listed as available.',
    ),
    scheduleDue: gauge(
      'farewatch_schedule_next_due_timestamp_seconds',
      'When each schedule is due next; in the past while its work is overdue.',
      ['schedule'],
    ),
  }
}
