import { Counter, Gauge, Histogram, type Registry } from 'prom-client'
import { REQUEST_BUCKETS_S } from './request-buckets.ts'

export function verifyMetrics(registers: Registry[]) {
  return {
    observations: new Counter({
      name: 'farewatch_observations_total',
      help: 'Observations of a leg: available, unavailable, or unknown with its reason.',
      labelNames: ['outcome', 'reason'],
      registers,
    }),
    checkDuration: new Histogram({
      name: 'farewatch_check_duration_seconds',
      help: 'Duration of a verify request of a check.',
      buckets: REQUEST_BUCKETS_S,
      registers,
    }),
    checksDropped: new Counter({
      name: 'farewatch_checks_dropped_total',
      help: 'Checks that did not count: late_slot, upstream_closed (the upstream was paused or its circuit open), superseded (a newer result was recorded).',
      labelNames: ['reason'],
      registers,
    }),
    lossesHeld: new Counter({
      name: 'farewatch_losses_held_total',
      help: 'Losses that were held because an incident was open.',
      registers,
    }),
    availabilityChanges: new Counter({
      name: 'farewatch_availability_changes_total',
      help: 'Confirmed changes of tracked fares, by kind.',
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
      help: 'Tracked fares that are checked, by pair state.',
      labelNames: ['pair'],
      registers,
    }),
    beliefsStale: new Gauge({
      name: 'farewatch_beliefs_stale',
      help: 'Tracked fares that are shown as unknown because their last good check is too old.',
      labelNames: ['pair'],
      registers,
    }),
    beliefsGoodSince: new Gauge({
      name: 'farewatch_beliefs_good_since_timestamp_seconds',
      help: 'The instant since which this share of the fares (0.5, 0.95, 1) had a good check; 0 without any.',
      labelNames: ['share'],
      registers,
    }),
    incidentsOpen: new Gauge({
      name: 'farewatch_incidents_open',
      help: 'Open incidents, by kind.',
      labelNames: ['kind'],
      registers,
    }),
  }
}
