import { collectDefaultMetrics } from 'prom-client'
import { DISABLED_REASONS, STREAM_ENDS, STREAMS } from '../base/kinds.ts'
import { createDeclare, type Declare } from './declare.ts'
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
import { syncGauges, syncMetrics, upstreamGauges, upstreamMetrics } from './upstream-metrics.ts'

export type Metrics = ReturnType<typeof createMetrics>

/** Gauges of prom-client whose names end in `_total` like those of counters. */
const MISNAMED = [
  'nodejs_active_handles_total',
  'nodejs_active_requests_total',
  'nodejs_active_resources_total',
]

/**
 * How often the lag of the event loop is sampled. The default of 10 ms costs 4 ms of CPU time a second, as much as
 * an idle worker.
 */
const LAG_EVERY_MS = 100

/**
 * Declares every metric of farewatch: base units, `_total` on counters, timestamps of events instead of ages, and
 * closed sets of labels that begin at 0. A route, flight, URL, key or message is never a label.
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

/** The event streams of the API in this process. */
function streamMetrics({ counter, gauge }: Declare) {
  return {
    streamOpen: gauge('farewatch_stream_open', 'Open event streams.', ['stream']),
    streamEvents: counter(
      'farewatch_stream_events_total',
      'Events that were sent, without heartbeats.',
      { stream: STREAMS },
    ),
    streamEnded: counter(
      'farewatch_stream_ended_total',
      'Event streams that ended: client (it left), slow (it read too slowly), refused (its key is no longer valid), shutdown, failed (the feed could not be followed).',
      { stream: STREAMS, reason: STREAM_ENDS },
    ),
  }
}

/** From a record that is sent at once to one that was retried for days. */
const LAG_BUCKETS_S = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 60, 600, 3_600, 86_400]

function deliveryMetrics({ counter, histogram }: Declare) {
  return {
    webhookDeliveries: counter(
      'farewatch_webhook_deliveries_total',
      'Results that this process recorded, by outcome: delivered, failed (tried again), dead, or postponed (by the limit of e-mail).',
      { outcome: ['delivered', 'failed', 'dead', 'postponed'] },
    ),
    webhookLag: histogram(
      'farewatch_webhook_lag_seconds',
      'Time from a record to the answer 2xx of a webhook, with all retries.',
      { buckets: LAG_BUCKETS_S },
    ),
  }
}

/** Of the whole system. */
function deliveryGauges({ gauge }: Declare) {
  return {
    webhookPending: gauge(
      'farewatch_webhook_pending',
      'Deliveries to enabled endpoints that have not ended.',
    ),
    webhookOldestPending: gauge(
      'farewatch_webhook_oldest_pending_timestamp_seconds',
      'Since when the longest-waiting delivery or record is due, without replayed ones, by its endpoint: failing (or paused by its receiver), busy, healthy; 0 if none waits.',
      ['endpoints'],
    ),
    webhookDead: gauge(
      'farewatch_webhook_dead',
      'Deliveries that ended without success within thirty days and were not replayed.',
    ),
    webhookDied: gauge(
      'farewatch_webhook_died_last_hour',
      'Deliveries that ended without success in the last hour and were not replayed.',
    ),
    webhookFailing: gauge(
      'farewatch_webhook_endpoints_failing_long',
      'Enabled endpoints with pending deliveries at which every attempt has failed for two hours.',
    ),
    webhookDisabled: gauge(
      'farewatch_webhook_endpoints_disabled',
      `Endpoints that receive nothing, by reason: ${DISABLED_REASONS.join(', ')}.`,
      ['reason'],
    ),
  }
}
