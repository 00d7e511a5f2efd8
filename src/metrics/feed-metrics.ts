import { Gauge, Histogram, type Registry } from 'prom-client'

const CONFIRMATION_BUCKETS_S = [0.1, 0.5, 1, 5, 15, 30, 60, 120, 300, 900, 3600]

export function feedMetrics(registers: Registry[]) {
  return {
    changeLag: new Histogram({
      name: 'farewatch_change_lag_seconds',
      help: 'From the first answer that showed a change of a fare to the record in the feed, confirmation included.',
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
      help: 'The last number of a feed; of the feeds of resellers the sum of theirs.',
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
