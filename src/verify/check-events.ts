import type { Logger } from '../base/logger.ts'
import type { Metrics } from '../metrics/metrics.ts'
import type { FareChange } from './decide.ts'
import type { RecordedCheck } from './record-checks.ts'

export interface ChecksDone {
  readonly recorded: readonly RecordedCheck[]
  readonly asked: number
  readonly late: number
  /** Not asked, or answered by a 429: given back. */
  readonly held: number
}

/** Tells a recorded batch to the metrics, and each of its changes to the log, in one place. */
export function reportChecks(
  { metrics, log }: { metrics: Metrics; log: Logger },
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
    for (const change of decision.changes) reportChange({ metrics, log }, fareId, change)
  }
}

function reportChange(
  { metrics, log }: { metrics: Metrics; log: Logger },
  fareId: number,
  { kind, before, after }: FareChange,
): void {
  metrics.availabilityChanges.inc({ kind })
  log.info({ fareId, kind, before, after }, 'fare changed')
}
