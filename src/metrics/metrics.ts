import { collectDefaultMetrics, Registry } from 'prom-client'
import { beginAtZero } from './begin-at-zero.ts'
import {
  budgetGauges,
  budgetMetrics,
  fareGauges,
  feedGauges,
  feedMetrics,
  verifyMetrics,
} from './fare-metrics.ts'
import { apiMetrics, processMetrics } from './process-metrics.ts'
import { queueGauges, queueMetrics } from './queue-metrics.ts'
import { syncGauges, syncMetrics } from './sync-metrics.ts'
import { upstreamGauges, upstreamMetrics } from './upstream-metrics.ts'

export type Metrics = ReturnType<typeof createMetrics>

/** Gauges of prom-client whose names end in `_total` like those of counters. */
const MISNAMED = [
  'nodejs_active_handles_total',
  'nodejs_active_requests_total',
  'nodejs_active_resources_total',
]

/**
 * Declares every metric of farewatch: base units, `_total` on counters, timestamps of events instead of ages, and closed
 * sets of labels that begin at 0. A route, flight, URL, key or message is never a label.
 *
 * `registry` holds the metrics of this process. `systemRegistry` holds gauges of the whole system, read from the shared
 * stores: every process exports them, so queries take `max` over processes, never `sum`.
 */
export function createMetrics() {
  const registry = new Registry()
  const systemRegistry = new Registry()
  const registers = [registry]
  const system = [systemRegistry]
  collectDefaultMetrics({ register: registry })
  for (const name of MISNAMED) registry.removeSingleMetric(name)
  const metrics = {
    registry,
    systemRegistry,
    ...syncMetrics(registers),
    ...upstreamMetrics(registers),
    ...budgetMetrics(registers),
    ...queueMetrics(registers),
    ...verifyMetrics(registers),
    ...feedMetrics(registers),
    ...processMetrics(registers),
    ...apiMetrics(registers),
    ...syncGauges(system),
    ...upstreamGauges(system),
    ...budgetGauges(system),
    ...queueGauges(system),
    ...fareGauges(system),
    ...feedGauges(system),
  }
  beginAtZero(metrics)
  return metrics
}

/** The text for a scrape, with the gauges of the whole system unless they could not be read. */
export async function renderMetrics(
  { registry, systemRegistry }: Pick<Metrics, 'registry' | 'systemRegistry'>,
  { withSystem }: { readonly withSystem: boolean },
): Promise<string> {
  const own = await registry.metrics()
  return withSystem ? `${own}\n${await systemRegistry.metrics()}` : own
}
