import { Counter, Gauge, Histogram, type Registry } from 'prom-client'
import { REQUEST_BUCKETS_S } from './request-buckets.ts'

export function verifyMetrics(registers: Registry[]) {
  return {
    observations: new Counter({
      name: 'farewatch_observations_total',
      help: 'What the upstream said of a leg; of unknown, why.',
      labelNames: ['outcome', 'reason'],
      registers,
    }),
    checkDuration: new Histogram({
      name: 'farewatch_check_duration_seconds',
      help: 'Duration of a verify call.',
      buckets: REQUEST_BUCKETS_S,
      registers,
    }),
    checksDropped: new Counter({
      name: 'farewatch_checks_dropped_total',
      help: 'Checks that did not count: their slot had passed, the upstream was to be left alone, or something newer was known.',
      labelNames: ['reason'],
      registers,
    }),
    lossesHeld: new Counter({
      name: 'farewatch_losses_held_total',
      help: 'Losses that were not believed because an incident was open.',
      registers,
    }),
    availabilityChanges: new Counter({
      name: 'farewatch_availability_changes_total',
      help: 'Confirmed changes of tracked fares.',
      labelNames: ['kind'],
      registers,
    }),
  }
}

/** Of the whole system. */
export function fareGauges(registers: Registry[]) {
  return {
    trackedFares: new Gauge({
      name: 'farewatch_tracked_fares',
      help: 'Tracked fares that are checked, by what is believed of the pair.',
      labelNames: ['pair'],
      registers,
    }),
    beliefsStale: new Gauge({
      name: 'farewatch_beliefs_stale',
      help: 'Of these, how many were not well answered for so long that they are shown as unknown.',
      labelNames: ['pair'],
      registers,
    }),
    beliefsGoodSince: new Gauge({
      name: 'farewatch_beliefs_good_since_timestamp_seconds',
      help: 'The instant since which this share of the believed fares was well answered; 0 without any.',
      labelNames: ['share'],
      registers,
    }),
    incidentsOpen: new Gauge({
      name: 'farewatch_incidents_open',
      help: 'Open incidents: mass losses, upstream trouble.',
      labelNames: ['kind'],
      registers,
    }),
  }
}
