import type { Counter, Histogram } from 'prom-client'
import {
  BUDGET_LANES,
  FARE_CHANGE_KINDS,
  ROUTE_CHANGE_KINDS,
  ROUTE_LISTS,
  RUN_OUTCOMES,
  UNKNOWN_REASONS,
} from '../base/kinds.ts'

const STAGES = ['fetch', 'stage', 'diff', 'apply']
const LIST_FAULTS = ['duplicate', 'conflicting_place', 'unknown_pair']
const DROP_REASONS = ['late_slot', 'upstream_closed', 'superseded']
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
const VERIFY_OUTCOMES = [...CALL_OUTCOMES, 'upstream.malformed', 'upstream.id_missing']

interface Zeroable {
  readonly syncRuns: Counter
  readonly syncReviews: Counter
  readonly syncReturned: Counter
  readonly syncListFaults: Counter
  readonly syncStageDuration: Histogram
  readonly routeChanges: Counter
  readonly availabilityChanges: Counter
  readonly observations: Counter
  readonly checksDropped: Counter
  readonly upstreamRequests: Counter
  readonly upstreamDuration: Histogram
  readonly budgetSlots: Counter
}

/**
 * Sets every series of a closed label set to 0. Otherwise a series would appear with its first event, and `rate` would
 * not show that event.
 */
export function beginAtZero(metrics: Zeroable): void {
  for (const list of ROUTE_LISTS) {
    for (const status of RUN_OUTCOMES) metrics.syncRuns.inc({ list, status }, 0)
    for (const stage of STAGES) metrics.syncStageDuration.zero({ list, stage })
    for (const fault of LIST_FAULTS) metrics.syncListFaults.inc({ list, fault }, 0)
    metrics.syncReviews.inc({ list }, 0)
    metrics.syncReturned.inc({ list }, 0)
  }
  for (const kind of ROUTE_CHANGE_KINDS) metrics.routeChanges.inc({ kind }, 0)
  for (const kind of FARE_CHANGE_KINDS) metrics.availabilityChanges.inc({ kind }, 0)
  for (const outcome of ['available', 'unavailable']) {
    metrics.observations.inc({ outcome, reason: '' }, 0)
  }
  for (const reason of UNKNOWN_REASONS) metrics.observations.inc({ outcome: 'unknown', reason }, 0)
  for (const reason of DROP_REASONS) metrics.checksDropped.inc({ reason }, 0)
  for (const endpoint of ENDPOINTS) {
    metrics.upstreamDuration.zero({ endpoint })
    const outcomes = endpoint === 'verify' ? VERIFY_OUTCOMES : LIST_OUTCOMES
    for (const outcome of outcomes) metrics.upstreamRequests.inc({ endpoint, outcome }, 0)
  }
  for (const lane of BUDGET_LANES) metrics.budgetSlots.inc({ lane }, 0)
}
