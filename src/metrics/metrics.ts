import { collectDefaultMetrics, Registry } from 'prom-client'
import { apiMetrics } from './api-metrics.ts'
import { beginAtZero } from './begin-at-zero.ts'
import { budgetGauges, budgetMetrics } from './budget-metrics.ts'
import { feedGauges, feedMetrics } from './feed-metrics.ts'
import { processMetrics } from './process-metrics.ts'
import { queueGauges, queueMetrics } from './queue-metrics.ts'
import { syncGauges, syncMetrics } from './sync-metrics.ts'
import { upstreamGauges, upstreamMetrics } from './upstream-metrics.ts'
import { fareGauges, verifyMetrics } from './verify-metrics.ts'

export type Metrics = ReturnType<typeof createMetrics>

/** Gauges whose names end like counters, which no rule may take for such. */
const MISNAMED = [
  'nodejs_active_handles_total',
  'nodejs_active_requests_total',
  'nodejs_active_resources_total',
]

/**
 * Every metric of farewatch, declared once. Base units, `_total` on counters, timestamps of events instead of
 * ages, bounded label sets that begin at 0; never a route, a flight, a URL, a key or a message as a label.
 *
 * `registry` is of this process. `systemRegistry` holds the gauges of the whole system, read from the stores that all
 * processes share: they are shown by one process at a time, so that a sum over processes is right.
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

/** What a scrape of this process is answered; with the gauges of the whole system where it is the one that shows them. */
export async function renderMetrics(
  { registry, systemRegistry }: Pick<Metrics, 'registry' | 'systemRegistry'>,
  { withSystem }: { readonly withSystem: boolean },
): Promise<string> {
  const own = await registry.metrics()
  return withSystem ? `${own}\n${await systemRegistry.metrics()}` : own
}
