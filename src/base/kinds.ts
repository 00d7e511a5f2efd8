/*
 * Closed sets of names that are contract. Types, API schemas and the labels of metrics follow from these lists;
 * test/db/kinds.pg.test.ts compares them with the check constraints of the migrated database.
 */

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

/** The kinds of changes that a check of a fare can confirm. */
export const FARE_CHANGE_KINDS = [
  'became_available',
  'became_unavailable',
  'legs_changed',
  'price_changed',
  'itinerary_changed',
  'identity_changed',
] as const
export type FareChangeKind = (typeof FARE_CHANGE_KINDS)[number]

/** The kinds of records in the feed of all fares. */
export const AVAILABILITY_CHANGE_KINDS = [...FARE_CHANGE_KINDS, 'expired'] as const
export type AvailabilityChangeKind = (typeof AVAILABILITY_CHANGE_KINDS)[number]

/** The kinds of events of a watch alone. Rows from before `watch_started` was added may have any kind of change. */
export const WATCH_EVENT_KINDS = ['watch_started', 'expired'] as const

/** The kinds of records in the feed of a reseller. */
export const WATCH_CHANGE_KINDS = ['watch_started', ...AVAILABILITY_CHANGE_KINDS] as const
export type WatchChangeKind = (typeof WATCH_CHANGE_KINDS)[number]
