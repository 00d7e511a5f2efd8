import type { Clock } from '../../platform/base/clock.ts'
import type { Logger } from '../../platform/base/logger.ts'
import type { Metrics } from '../../platform/metrics/metrics.ts'
import type { FareChange } from '../decide/name-changes.ts'
import type { Check } from './check-fares.ts'
import type { RecordedCheck } from './record-checks.ts'

export interface CheckEventDeps {
  readonly metrics: Metrics
  readonly log: Logger
  readonly clock: Clock
}

export interface BatchResult {
  readonly recorded: readonly RecordedCheck[]
  /** All that were answered, with those that do not count. */
  readonly checks: readonly Check[]
  /** Fares that were not checked: their slot had passed. */
  readonly late: number
  /** Fares that were not checked: the circuit breaker was open, or the upstream answered 429. */
  readonly blocked: number
}

/** Counts a recorded batch in the metrics, and logs each of its changes. */
export function reportChecks(
  { metrics, log, clock }: CheckEventDeps,
  { recorded, checks, late, blocked }: BatchResult,
): void {
  metrics.checksDropped.inc({ reason: 'late_slot' }, late)
  metrics.checksDropped.inc({ reason: 'upstream_closed' }, blocked)
  const counted = new Set(recorded.map(({ check }) => check))
  for (const { observation } of checks.filter((check) => !counted.has(check))) {
    metrics.checksDropped.inc({ reason: observation.ageSeconds > 0 ? 'aged' : 'superseded' })
  }
  for (const { fareId, check, decision } of recorded) {
    for (const outcome of [decision.outcome.outbound, decision.outcome.return]) {
      if (outcome === null) continue
      const [kind = outcome, reason = ''] = outcome.split(':')
      metrics.observations.inc({ outcome: kind, reason })
    }
    metrics.checkDuration.observe(check.observation.evidence.latencyMs / 1000)
    if (decision.state.held !== null) metrics.changesHeld.inc({ kind: decision.state.held })
    for (const change of decision.changes) reportChange({ metrics, log, clock }, fareId, change)
  }
}

function reportChange(
  { metrics, log, clock }: CheckEventDeps,
  fareId: number,
  { kind, reason, before, after, detectedAt }: FareChange,
): void {
  metrics.availabilityChanges.inc({ kind, reason: reason ?? '' })
  // The two instants are from different clocks, the database's and ours. `farewatch_clock_skew_seconds` shows the error.
  const lagMs = clock.now().getTime() - Date.parse(detectedAt)
  metrics.changeLag.observe(Math.max(0, lagMs) / 1000)
  // Thousands of these lines an hour would push the lines of the syncs out of a log of limited size.
  log.debug({ fareId, kind, reason, before, after }, 'fare changed')
}
