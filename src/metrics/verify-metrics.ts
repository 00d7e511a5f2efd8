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
      help: 'Checks that did not count: their slot had passed, or something newer was known.',
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
    ...fareGauges(registers),
  }
}

/** Read from the database at each scrape. */
function fareGauges(registers: Registry[]) {
  return {
    trackedFares: new Gauge({
      name: 'farewatch_tracked_fares',
      help: 'Tracked fares that are checked, by what is believed of the pair.',
      labelNames: ['pair'],
      registers,
    }),
    oldestDue: new Gauge({
      name: 'farewatch_checks_oldest_good_timestamp_seconds',
      help: 'When the fare was last well answered that waits longest for it; 0 without fares.',
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
