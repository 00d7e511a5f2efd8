import { AVAILABILITY_CHANGE_KINDS, HELD_KINDS, kindOf } from '../base/change-kinds.ts'
import { BUDGET_LANES, UNKNOWN_REASONS, WATCH_PRIORITIES } from '../base/kinds.ts'
import type { Declare } from './declare.ts'
import { REQUEST_BUCKETS_S } from './upstream-metrics.ts'

const CONFIRMATION_BUCKETS_S = [0.1, 0.5, 1, 5, 15, 30, 60, 120, 300, 900, 3600]

export function verifyMetrics({ counter, histogram }: Declare) {
  const metrics = {
    observations: counter(
      'farewatch_observations_total',
      'Observations of a leg: available, unavailable, or unknown with its reason.',
      { outcome: [], reason: [] },
    ),
    checkDuration: histogram(
      'farewatch_check_duration_seconds',
      'Duration of a verify request of a check.',
      { buckets: REQUEST_BUCKETS_S },
    ),
    checksDropped: counter(
      'farewatch_checks_dropped_total',
      'Checks that did not count: late_slot, upstream_closed, superseded (by a newer result or the end of the fare), aged, copied (its Date is that of the last counted answer).',
      { reason: ['late_slot', 'upstream_closed', 'superseded', 'aged', 'copied'] },
    ),
    clockSetBack: counter(
      'farewatch_database_clock_set_back_total',
      'Times that the clock of the database was found set back by more than 10 seconds.',
    ),
    changesHeld: counter(
      'farewatch_changes_held_total',
      'Changes that were held because an incident was open, by kind.',
      { kind: HELD_KINDS },
    ),
    availabilityChanges: counter(
      'farewatch_availability_changes_total',
      'Confirmed changes of tracked fares, by kind; of losses and ends also by reason.',
      { kind: [], reason: [] },
    ),
  }
  for (const kind of AVAILABILITY_CHANGE_KINDS) {
    for (const reason of kindOf(kind).reasons ?? [''])
      metrics.availabilityChanges.inc({ kind, reason }, 0)
  }
  for (const outcome of ['available', 'unavailable']) {
    metrics.observations.inc({ outcome, reason: '' }, 0)
  }
  for (const reason of UNKNOWN_REASONS) metrics.observations.inc({ outcome: 'unknown', reason }, 0)
  return metrics
}

/** Of the whole system. */
export function fareGauges({ gauge }: Declare) {
  return {
    trackedFares: gauge(
      'farewatch_tracked_fares',
      'Tracked fares that are checked, by what is believed (of more than 20,000 from a sample of them): bookable, not_bookable, hidden (the belief is held back, because answers contradict it or none can be used), unknown (no good check yet).',
      ['state'],
    ),
    beliefsStale: gauge(
      'farewatch_beliefs_stale',
      'Tracked fares that are shown as unknown because their last good check is too old; from the same sample.',
      ['state'],
    ),
    beliefsGoodSince: gauge(
      'farewatch_beliefs_good_since_timestamp_seconds',
      'The instant since which this share of the fares (0.5, 0.95, 1) had a good check; 0 without any. From the same sample.',
      ['share'],
    ),
    detectionDelay: gauge(
      'farewatch_detection_delay_seconds',
      'How late the changes of the last day were recorded, by the highest priority of their watches (or all), share of the changes (0.5, 0.95) and bound: at_most from the last good check without the change, midpoint from the middle between that check and the first one with it.',
      ['priority', 'share', 'bound'],
    ),
    changesWaiting: gauge(
      'farewatch_changes_waiting',
      'Fares whose last answers contradict what was known, so that a change waits for its record: confirmation (for more answers), late (the same, for over five minutes), held (many flights change at once).',
      ['wait'],
    ),
    changesOldestWaiting: gauge(
      'farewatch_changes_oldest_waiting_timestamp_seconds',
      'When the first answer began that showed the oldest change that waits; 0 if none waits.',
      ['wait'],
    ),
    maxDelaysUnkept: gauge(
      'farewatch_max_delays_unkept',
      'Resellers whose max_delay_seconds cannot be kept; at most 10 are counted.',
    ),
    incidentsOpen: gauge('farewatch_incidents_open', 'Open incidents, by kind.', ['kind']),
  }
}

export function budgetMetrics({ counter }: Declare) {
  return {
    budgetSlots: counter(
      'farewatch_budget_slots_total',
      'Slots of the budget that this process took.',
      { lane: BUDGET_LANES },
    ),
    prioritySlots: counter(
      'farewatch_budget_slots_by_priority_total',
      'The same slots by the priority of the watches; none: lists, questions on demand, and fares without a watch.',
      { priority: [...WATCH_PRIORITIES, 'none'] },
    ),
  }
}

/** Of the whole system: the budget and the fares that wait for it. */
export function budgetGauges({ gauge }: Declare) {
  return {
    budgetRate: gauge(
      'farewatch_budget_requests_per_second',
      'The configured budget: upstream requests a second of all processes together.',
    ),
    budgetLimit: gauge(
      'farewatch_budget_limit_requests_per_second',
      'What operators allow of the budget for a while; absent without a limit.',
    ),
    checksDue: gauge(
      'farewatch_checks_due',
      'Fares that may be checked now and wait for a slot, by lane; scheduled: of more than 20,000 fares from a sample.',
      ['lane'],
    ),
    checksOldestDue: gauge(
      'farewatch_checks_oldest_due_timestamp_seconds',
      'Since when the longest-waiting fare may be checked; 0 if none waits.',
      ['lane'],
    ),
    expectedInterval: gauge(
      'farewatch_checks_round_seconds',
      'Time that one check of every fare takes at the present budget: the expected interval of a fare.',
    ),
  }
}

export function feedMetrics({ histogram }: Declare) {
  return {
    changeLag: histogram(
      'farewatch_change_lag_seconds',
      'Time from the first answer that showed a change to its record in the feed.',
      { buckets: CONFIRMATION_BUCKETS_S },
    ),
  }
}

/** Of the whole system. */
export function feedGauges({ gauge }: Declare) {
  return {
    feedLastSeq: gauge(
      'farewatch_feed_last_seq',
      'The last seq of a feed, counted from the last restore; of watch, the sum over all resellers.',
      ['feed'],
    ),
    feedLastRecord: gauge(
      'farewatch_feed_last_record_timestamp_seconds',
      'When the last record of a feed was written; 0 before the first.',
      ['feed'],
    ),
    feedGeneration: gauge(
      'farewatch_feed_generation',
      'The present generation of the feeds; it rises when the database was restored.',
    ),
    historyFloor: gauge(
      'farewatch_history_floor_timestamp_seconds',
      'Since when the histories are complete; 0 if nothing is archived.',
    ),
  }
}
