import { Counter, Gauge, Histogram, type Registry } from 'prom-client'
import { REQUEST_BUCKETS_S } from './upstream-metrics.ts'

const CONFIRMATION_BUCKETS_S = [0.1, 0.5, 1, 5, 15, 30, 60, 120, 300, 900, 3600]

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

export function budgetMetrics(registers: Registry[]) {
  return {
    budgetSlots: new Counter({
      name: 'farewatch_budget_slots_total',
      help: 'Slots of the budget that this process took, by lane or purpose.',
      labelNames: ['lane'],
      registers,
    }),
  }
}

/** Of the whole system: the budget and the fares that wait for it. */
export function budgetGauges(registers: Registry[]) {
  return {
    budgetRate: new Gauge({
      name: 'farewatch_budget_requests_per_second',
      help: 'The configured budget: upstream requests a second of all processes together.',
      registers,
    }),
    checksDue: new Gauge({
      name: 'farewatch_checks_due',
      help: 'Fares that may be checked now and wait for a slot, by lane.',
      labelNames: ['lane'],
      registers,
    }),
    checksOldestDue: new Gauge({
      name: 'farewatch_checks_oldest_due_timestamp_seconds',
      help: 'Since when the longest-waiting fare of each lane may be checked; 0 if none waits.',
      labelNames: ['lane'],
      registers,
    }),
    expectedInterval: new Gauge({
      name: 'farewatch_checks_turn_seconds',
      help: 'Time that one check of every fare takes at the present budget: the expected interval of a fare.',
      registers,
    }),
  }
}

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
