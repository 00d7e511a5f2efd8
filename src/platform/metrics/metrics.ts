import { collectDefaultMetrics } from 'prom-client'
import { createDeclare } from './declare.ts'
import { deliveryGauges, deliveryMetrics } from './delivery-metrics.ts'
import {
  budgetGauges,
  budgetMetrics,
  fareGauges,
  feedGauges,
  feedMetrics,
  verifyMetrics,
} from './fare-metrics.ts'
import {
  apiMetrics,
  processMetrics,
  queueGauges,
  queueMetrics,
  storeGauges,
} from './process-metrics.ts'
import { streamMetrics } from './stream-metrics.ts'
import { syncGauges, syncMetrics } from './sync-metrics.ts'
import { upstreamGauges, upstreamMetrics } from './upstream-metrics.ts'

export type Metrics = ReturnType<typeof createMetrics>

/** Gauges of prom-client whose names end in `_total` like those of counters. */
const MISNAMED = [
  'nodejs_active_handles_total',
  'nodejs_active_requests_total',
  'nodejs_active_resources_total',
]

/** How often the lag of the event loop is sampled. The default of 10 ms costs 4 ms of CPU time a second, as much as an idle worker. */
const LAG_EVERY_MS = 100

/**
 * Declares every metric of farewatch: base units, `_total` on counters, timestamps of events instead of ages, and closed
 * sets of labels that begin at 0. A route, flight, URL, key or message is never a label.
 *
 * `registry` holds the metrics of this process. `systemRegistry` holds gauges of the whole system, read from the shared
 * stores: every process exports them, so queries take `max` over processes, never `sum`.
 */
export function createMetrics() {
  const own = createDeclare()
  const system = createDeclare()
  const { registry } = own
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: LAG_EVERY_MS })
  for (const name of MISNAMED) registry.removeSingleMetric(name)
  return {
    registry,
    systemRegistry: system.registry,
    ...syncMetrics(own),
    ...upstreamMetrics(own),
    ...budgetMetrics(own),
    ...queueMetrics(own),
    ...verifyMetrics(own),
    ...feedMetrics(own),
    ...deliveryMetrics(own),
    ...processMetrics(own),
    ...apiMetrics(own),
    ...streamMetrics(own),
    ...syncGauges(system),
    ...upstreamGauges(system),
    ...budgetGauges(system),
    ...queueGauges(system),
    ...storeGauges(system),
    ...fareGauges(system),
    ...feedGauges(system),
    ...deliveryGauges(system),
  }
}

/** The text for a scrape, with the gauges of the whole system unless they could not be read. */
export async function renderMetrics(
  { registry, systemRegistry }: Pick<Metrics, 'registry' | 'systemRegistry'>,
  { withSystem }: { readonly withSystem: boolean },
): Promise<string> {
  const own = await registry.metrics()
  return withSystem ? `${own}\n${await systemRegistry.metrics()}` : own
}
