import { Gauge, Histogram, type Registry } from 'prom-client'

const CONFIRMATION_BUCKETS_S = [0.1, 0.5, 1, 5, 15, 30, 60, 120, 300, 900, 3600]

export function feedMetrics(registers: Registry[]) {
  return {
    changeLag: new Histogram({
      name: 'farewatch_change_lag_seconds',
      help: 'Time from the first answer that showed a change to its record in the feed; a loss waits about 20 s for its confirmation.',
      buckets: CONFIRMATION_BUCKETS_S,
      registers,
    }),
  }
}

/** Of the whole system. */
export function feedGauges(registers: Registry[]) {
  return {
    feedLastSeq: new Gauge({
      name: 'farewatch_feed_last_seq',
      help: 'The last seq of a feed; of watch, the sum over all resellers.',
      labelNames: ['feed'],
      registers,
    }),
    feedLastRecord: new Gauge({
      name: 'farewatch_feed_last_record_timestamp_seconds',
      help: 'When the last record of a feed was written; 0 before the first.',
      labelNames: ['feed'],
      registers,
    }),
  }
}
