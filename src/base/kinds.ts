/*
 * Closed sets of names that are contract. Types, API schemas and the labels of metrics follow from these lists;
 * test/db/kinds.pg.test.ts compares them with the check constraints of the migrated database.
 */

/** The two route lists of the upstream. */
export const ROUTE_LISTS = ['routes', 'with-availability'] as const
export type RouteListName = (typeof ROUTE_LISTS)[number]

/** How a run of a route list ends in the process that runs it. */
export const RUN_OUTCOMES = ['applied', 'unchanged', 'held', 'rejected', 'failed'] as const
/** Every status of a finished run. The last two replace `held` once its review is decided. */
export const RUN_STATUSES = [...RUN_OUTCOMES, 'approved', 'dropped'] as const
export type RunStatus = (typeof RUN_STATUSES)[number]

/** The kinds of records in the feed of route changes. */
export const ROUTE_CHANGE_KINDS = [
  'route_added',
  'route_removed',
  'route_gained_availability',
  'route_lost_availability',
  'place_changed',
] as const
export type RouteChangeKind = (typeof ROUTE_CHANGE_KINDS)[number]

/** The kinds of changes of a fare that a check can confirm. */
export const FARE_CHANGE_KINDS = [
  'became_available',
  'became_unavailable',
  'legs_changed',
  'price_changed',
  'itinerary_changed',
  'identity_changed',
] as const
export type FareChangeKind = (typeof FARE_CHANGE_KINDS)[number]

/** The kinds of records in the feed of availability changes. */
export const AVAILABILITY_CHANGE_KINDS = [...FARE_CHANGE_KINDS, 'expired'] as const
export type AvailabilityChangeKind = (typeof AVAILABILITY_CHANGE_KINDS)[number]

/** The kinds of events of a watch alone. Rows from before `watch_started` was added may have any kind of change. */
export const WATCH_EVENT_KINDS = ['watch_started', 'expired'] as const

/** The kinds of records in the feed of a reseller. */
export const WATCH_CHANGE_KINDS = ['watch_started', ...AVAILABILITY_CHANGE_KINDS] as const
export type WatchChangeKind = (typeof WATCH_CHANGE_KINDS)[number]

export const INCIDENT_KINDS = ['mass_loss', 'upstream_trouble'] as const
export type IncidentKind = (typeof INCIDENT_KINDS)[number]

/** The states of a fare: bookable if all legs are available, not_bookable if any leg is unavailable. */
export const PAIR_STATES = ['bookable', 'not_bookable', 'unknown'] as const
export type PairState = (typeof PAIR_STATES)[number]

/** The beliefs about one leg. */
export const BELIEFS = ['available', 'unavailable', 'unknown'] as const
export type Belief = (typeof BELIEFS)[number]

/** The lanes in which a check may be due before its regular due time. */
export const FAST_LANES = ['confirmation', 'new_watch', 'retry'] as const
/** The lanes of checks; `scheduled` is the regular one. */
export const CHECK_LANES = ['scheduled', ...FAST_LANES] as const
export type CheckLane = (typeof CHECK_LANES)[number]
/** The purposes for which a slot of the budget is taken. */
export const BUDGET_LANES = [...CHECK_LANES, 'on_demand', 'quick_retry', 'list'] as const

/** Why a check could not observe a leg. No reason counts against a fare. */
export const UNKNOWN_REASONS = [
  'timeout',
  'network',
  'http_4xx',
  'http_5xx',
  'rate_limited',
  'auth',
  'malformed',
  'contract_violation',
  'id_missing',
  'identity_mismatch',
] as const
/** With `circuit_open` no request was sent, so it is no result of a check. */
export type UnknownReason = (typeof UNKNOWN_REASONS)[number] | 'circuit_open'
