import { DISABLED_REASONS } from '../base/kinds.ts'
import type { Declare } from './declare.ts'

/** From a record that is sent at once to one that was retried for days. */
const LAG_BUCKETS_S = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 60, 600, 3_600, 86_400]

export function deliveryMetrics({ counter, histogram }: Declare) {
  return {
    webhookDeliveries: counter(
      'farewatch_webhook_deliveries_total',
      'Results that this process recorded, by outcome: delivered, failed (tried again), dead, or postponed (by the limit of e-mail).',
      { outcome: ['delivered', 'failed', 'dead', 'postponed'] },
    ),
    webhookLag: histogram(
      'farewatch_webhook_lag_seconds',
      'Time from a record to the answer 2xx of a webhook. Retries and replays count with the whole time.',
      { buckets: LAG_BUCKETS_S },
    ),
  }
}

/** Of the whole system. */
export function deliveryGauges({ gauge }: Declare) {
  return {
    webhookPending: gauge(
      'farewatch_webhook_pending',
      'Deliveries to enabled endpoints that have not ended.',
    ),
    webhookOldestPending: gauge(
      'farewatch_webhook_oldest_pending_timestamp_seconds',
      'Since when the longest-waiting delivery or record is due, without replayed ones, by the condition of its endpoint: failing (the last attempt failed, or the receiver requested a pause), busy (as many requests as permitted are in progress), healthy (all others); 0 if none waits.',
      ['endpoints'],
    ),
    webhookDead: gauge(
      'farewatch_webhook_dead',
      'Deliveries that ended without success within thirty days and were not replayed.',
    ),
    webhookDisabled: gauge(
      'farewatch_webhook_endpoints_disabled',
      `Endpoints that receive nothing, by reason: ${DISABLED_REASONS.join(', ')}.`,
      ['reason'],
    ),
  }
}
