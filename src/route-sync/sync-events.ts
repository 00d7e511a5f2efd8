import type { Logger } from '../base/logger.ts'
import type { Metrics } from '../metrics/metrics.ts'
import type { SyncOutcome } from './runs/sync-run.ts'

const EXPECTED = new Set(['applied', 'unchanged'])

/** Tells the outcome of a run to the metrics and to the log, in one place. */
export function reportSyncFinished(
  { metrics, log }: { metrics: Metrics; log: Logger },
  outcome: SyncOutcome,
): void {
  const { list, status } = outcome
  metrics.syncRuns.inc({ list, status })
  for (const [stage, ms] of Object.entries(outcome.durationsMs)) {
    metrics.syncStageDuration.observe({ list, stage }, ms / 1000)
  }
  if (EXPECTED.has(status)) countAccepted(metrics, outcome)
  if (opensReview(outcome)) metrics.syncReviews.inc({ list })
  // What the run did not come to count is no news.
  const told = Object.entries(outcome).filter(([, value]) => value !== null)
  log[levelOf(outcome)](Object.fromEntries(told), 'route sync finished')
}

/** Whether somebody is to be told: a list that agrees with one under review is no news. */
function opensReview({ status, runId, reviewId }: SyncOutcome): boolean {
  return status === 'held' && (reviewId ?? runId) === runId
}

function levelOf(outcome: SyncOutcome): 'info' | 'warn' {
  const { status } = outcome
  return EXPECTED.has(status) || (status === 'held' && !opensReview(outcome)) ? 'info' : 'warn'
}

function countAccepted(metrics: Metrics, outcome: SyncOutcome): void {
  const { list } = outcome
  metrics.syncReturned.inc({ list }, outcome.returned ?? 0)
  const faults = {
    duplicate: outcome.duplicates,
    conflicting_place: outcome.conflictingPlaces,
    unknown_pair: outcome.unknownPairs,
  }
  for (const [fault, count] of Object.entries(faults)) {
    metrics.syncListFaults.inc({ list, fault }, count ?? 0)
  }
  if (outcome.baseline) return
  metrics.routeChanges.inc({ kind: 'route_added' }, outcome.added ?? 0)
  metrics.routeChanges.inc({ kind: 'route_removed' }, outcome.removed ?? 0)
  metrics.routeChanges.inc({ kind: 'route_gained_availability' }, outcome.gained ?? 0)
  metrics.routeChanges.inc({ kind: 'route_lost_availability' }, outcome.lost ?? 0)
  metrics.routeChanges.inc({ kind: 'place_changed' }, outcome.placesChanged ?? 0)
}
