import { collectDefaultMetrics, Registry } from 'prom-client'
import { queueMetrics } from './queue-metrics.ts'
import { syncMetrics } from './sync-metrics.ts'
import { upstreamMetrics } from './upstream-metrics.ts'
import { verifyMetrics } from './verify-metrics.ts'

const LISTS = ['routes', 'with-availability']
const STATUSES = ['applied', 'unchanged', 'held', 'rejected', 'failed']
/** Those of a run as it is recorded: a held one may be decided later, by another process. */
const RECORDED_STATUSES = [...STATUSES, 'approved', 'dropped']
const CHANGE_KINDS = [
  'route_added',
  'route_removed',
  'route_gained_availability',
  'route_lost_availability',
  'place_changed',
]

export type Metrics = ReturnType<typeof createMetrics>

/**
 * Every metric of farewatch, declared once. Base units, `_total` on counters, timestamps of events instead of
 * ages, bounded label sets that begin at 0; never a route, a flight, a URL, a key or a message as a label.
 */
export function createMetrics() {
  const registry = new Registry()
  const registers = [registry]
  collectDefaultMetrics({ register: registry })
  const metrics = {
    registry,
    ...syncMetrics(registers),
    ...upstreamMetrics(registers),
    ...queueMetrics(registers),
    ...verifyMetrics(registers),
  }
  for (const list of LISTS) {
    for (const status of STATUSES) metrics.syncRuns.inc({ list, status }, 0)
    metrics.syncReviews.inc({ list }, 0)
    for (const status of RECORDED_STATUSES) metrics.syncRunsRecorded.set({ list, status }, 0)
  }
  for (const kind of CHANGE_KINDS) metrics.routeChanges.inc({ kind }, 0)
  return metrics
}
