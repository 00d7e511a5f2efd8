import type { Clock } from '../../base/clock.ts'
import type { Logger } from '../../base/logger.ts'
import type { Metrics } from '../../metrics/metrics.ts'
import type { FareChange } from '../decide/fare-change.ts'
import type { RecordedCheck } from './record-checks.ts'

export interface CheckEventDeps {
  readonly metrics: Metrics
  readonly log: Logger
  readonly clock: Clock
}

export interface ChecksDone {
  readonly recorded: readonly RecordedCheck[]
  readonly asked: number
  readonly late: number
  /** Not asked, or answered by a 429: given back. */
  readonly held: number
}

/** Tells a recorded batch to the metrics, and each of its changes to the log, in one place. */
export function reportChecks(
  { metrics, log, clock }: CheckEventDeps,
  { recorded, asked, late, held }: ChecksDone,
): void {
  metrics.checksDropped.inc({ reason: 'late_slot' }, late)
  metrics.checksDropped.inc({ reason: 'upstream_closed' }, held)
  metrics.checksDropped.inc({ reason: 'superseded' }, asked - recorded.length)
  for (const { fareId, check, decision } of recorded) {
    for (const outcome of [decision.outcome.outbound, decision.outcome.return]) {
      if (outcome === null) continue
      const [kind = outcome, reason = ''] = outcome.split(':')
      metrics.observations.inc({ outcome: kind, reason })
    }
    metrics.checkDuration.observe(check.observation.evidence.latencyMs / 1000)
    if (decision.heldLoss) metrics.lossesHeld.inc()
    for (const change of decision.changes) reportChange({ metrics, log, clock }, fareId, change)
  }
}

function reportChange(
  { metrics, log, clock }: CheckEventDeps,
  fareId: number,
  { kind, before, after, detectedAt }: FareChange,
): void {
  metrics.availabilityChanges.inc({ kind })
  // The one is the database's clock, the other ours: `farewatch_clock_skew_seconds` says how wrong that is.
  const lagMs = clock.now().getTime() - Date.parse(detectedAt)
  metrics.changeLag.observe(Math.max(0, lagMs) / 1000)
  log.info({ fareId, kind, before, after }, 'fare changed')
}
