/* Generated from the migrated database by `npm run db:types`. Do not edit: change a migration and run it again. */

import type { ColumnType } from 'kysely'

export type AvailabilityChangeKind =
  | 'became_available'
  | 'became_unavailable'
  | 'expired'
  | 'identity_changed'
  | 'itinerary_changed'
  | 'legs_changed'
  | 'price_changed'

export type FareScheduleLane = 'confirmation' | 'new_watch' | 'retry'

export type FareStateOutbound = 'available' | 'unavailable' | 'unknown'

export type FareStatePair = 'bookable' | 'not_bookable' | 'unknown'

export type FareStateReturn = 'available' | 'unavailable' | 'unknown'

export type Generated<T> =
  T extends ColumnType<infer S, infer I, infer U>
    ? ColumnType<S, I | undefined, U>
    : ColumnType<T, T | undefined, T>

export type IncidentKind = 'mass_loss' | 'upstream_trouble'

export type PendingAbsenceList = 'routes' | 'with-availability'

export type RouteChangeKind =
  | 'place_changed'
  | 'route_added'
  | 'route_gained_availability'
  | 'route_lost_availability'
  | 'route_removed'

export type SyncRunList = 'routes' | 'with-availability'

export type SyncRunResolution = 'agreed' | 'approved' | 'normal_list' | 'rejected' | 'superseded'

export type SyncRunStatus =
  | 'applied'
  | 'approved'
  | 'dropped'
  | 'failed'
  | 'held'
  | 'rejected'
  | 'unchanged'

export type UpstreamBreakerBreaker = 'auth' | 'errors'

export type UpstreamBreakerEndpoint = 'lists' | 'verify'

export interface ApiKey {
  created_at: Generated<Date>
  expires_at: Date | null
  hash: Buffer
  id: Generated<number>
  last_used_at: Date | null
  prefix: string
  reseller_id: number | null
  revoked_at: Date | null
  scopes: string[]
}

export interface AvailabilityChange {
  after: ColumnType<unknown, string, string>
  before: ColumnType<unknown, string, string>
  detected_at: Date
  evidence_hash: string | null
  id: Generated<string>
  kind: AvailabilityChangeKind
  last_good_check_at: Date | null
  provenance: ColumnType<unknown, string, string>
  recorded_at: Generated<Date>
  schema_version: Generated<number>
  seq: number
  tracked_fare_id: number
}

export interface CheckMinute {
  checks: number
  minute: Date
  unknown: number
}

export interface Evidence {
  body: Buffer
  created_at: Generated<Date>
  hash: string
}

export interface FareBeliefVersion {
  currency: string | null
  outbound: string
  pair: string
  price: string | null
  return: string | null
  tracked_fare_id: number
  valid_from: Date
  valid_to: Date | null
}

export interface FareSchedule {
  claim_id: string | null
  /**
   * Why the fare is checked before the schedule says so; null where it is not.
   */
  lane: FareScheduleLane | null
  lane_due_at: Date | null
  /**
   * End of the minimum interval, or of the lease of a claim.
   */
  not_before: Generated<Date>
  slot_at: Date | null
  /**
   * Share of the budget: a check moves vdue forward by 1 / ticket.
   */
  ticket: Generated<number>
  tracked_fare_id: number
  /**
   * Virtual due time: the fares with the smallest are checked first.
   */
  vdue: number
}

export interface FareState {
  asked_at: Date | null
  believed_since: Generated<Date>
  checks: Generated<number>
  currency: string | null
  ever_available_at: Date | null
  expired_at: Date | null
  last_check_at: Date | null
  last_good_check_at: Date | null
  last_reason: string | null
  outbound: Generated<FareStateOutbound>
  pair: Generated<FareStatePair>
  price: string | null
  return: FareStateReturn | null
  /**
   * The state as decide() takes and returns it: counts of contradictions, prices of the legs, identities. {} before the first check.
   */
  state: ColumnType<unknown, string, string>
  tracked_fare_id: number
}

export interface FeedHead {
  feed: string
  last_seq: Generated<number>
}

export interface Incident {
  closed_at: Date | null
  detail: Generated<ColumnType<unknown, string, string>>
  id: Generated<number>
  kind: IncidentKind
  opened_at: Generated<Date>
}

export interface MigrationNote {
  applied_at: Generated<Date>
  name: string
  older_code_may_run: boolean
}

export interface PendingAbsence {
  absences: number
  departure_id: string
  destination_id: string
  first_missed_at: Date
  last_seen_at: Date
  list: PendingAbsenceList
}

export interface PlaceVersion {
  city: string
  country: string
  iata: string
  place_id: string
  valid_from: Date
  valid_to: Date | null
}

export interface RecheckClock {
  /**
   * Fares whose minimum interval ended before this have no virtual due time further than one check of each fare ahead.
   */
  capped_to: Generated<Date>
  counted_at: Generated<Date>
  /**
   * How long one check of every fare takes at the budget, as last counted.
   */
  expected_interval: Generated<ColumnType<object, string, string>>
  only_row: Generated<boolean>
  tickets: Generated<number>
  /**
   * Virtual time: the largest virtual due time that was claimed.
   */
  v: Generated<number>
}

export interface Reseller {
  created_at: Generated<Date>
  disabled_at: Date | null
  id: Generated<number>
  last_seq: Generated<number>
  name: string
}

export interface RouteAvailabilityVersion {
  available: boolean
  departure_id: string
  destination_id: string
  valid_from: Date
  valid_to: Date | null
}

export interface RouteChange {
  after: ColumnType<unknown, string, string> | null
  before: ColumnType<unknown, string, string> | null
  departure_id: string | null
  destination_id: string | null
  first_missed_at: Date
  id: Generated<string>
  kind: RouteChangeKind
  last_seen_at: Date | null
  place_id: string | null
  recorded_at: Generated<Date>
  seq: number
  sync_run_id: number
}

export interface RouteVersion {
  added_by: number
  departure_id: string
  destination_id: string
  removed_by: number | null
  valid_from: Date
  valid_to: Date | null
}

export interface Schedule {
  cron: string
  last_due_at: Date | null
  name: string
  next_due_at: Date
}

export interface Snapshot {
  bytes: number
  content_hash: string
  kept_at: Generated<Date>
  stored_bytes: number
}

export interface SnapshotPart {
  content: Buffer
  content_hash: string
  part: number
}

export interface SyncRun {
  added: number | null
  arrived_at: Date | null
  baseline: Generated<boolean>
  bytes: number | null
  conflicting_places: number | null
  content_hash: string | null
  duplicates: number | null
  durations_ms: ColumnType<Record<string, number>, string | undefined, string>
  etag: string | null
  fetched: number | null
  fetched_at: Date | null
  finished_at: Date | null
  gained: number | null
  id: Generated<number>
  last_modified: string | null
  list: SyncRunList
  live: number | null
  lost: number | null
  not_modified: Generated<boolean>
  pending_absences: number | null
  places_changed: number | null
  reason: string | null
  reason_code: string | null
  removed: number | null
  resolution: SyncRunResolution | null
  resolved_at: Date | null
  resolved_by: number | null
  returned: number | null
  review_id: number | null
  started_at: Generated<Date>
  status: SyncRunStatus | null
  unknown_pairs: number | null
}

export interface TrackedFare {
  created_at: Generated<Date>
  departs_on: ColumnType<Date, string, string> | null
  ended_at: Date | null
  flight_id: string
  id: Generated<number>
  min_interval_seconds: number | null
  non_residents_adults: number
  non_residents_children: number
  non_residents_infants: number
  residents_adults: number
  residents_children: number
  residents_infants: number
  return_flight_id: string | null
  watchers: Generated<number>
}

export interface UpstreamBreaker {
  breaker: UpstreamBreakerBreaker
  endpoint: UpstreamBreakerEndpoint
  state: Generated<ColumnType<unknown, string, string>>
  written_at: Generated<Date>
}

export interface UpstreamBudget {
  lowered_at: Generated<Date>
  next_lane_at: Generated<Date>
  next_slot_at: Generated<Date>
  only_row: Generated<boolean>
  paused_until: Generated<Date>
  pauses_in_row: Generated<number>
  recovers_from: Generated<Date>
  share: Generated<number>
}

export interface VerifyResult {
  asked_at: Date
  body: string
  question: string
}

export interface Watch {
  /**
   * When it was added or resumed, or when its question changed last.
   */
  began_at: Generated<Date>
  created_at: Generated<Date>
  departs_on: ColumnType<Date, string, string> | null
  ended_at: Date | null
  id: Generated<string>
  /**
   * The price of the last record that it received: price thresholds are measured from there. Null: that record had no price, or there is none yet.
   */
  last_notified_amount: string | null
  last_notified_currency: string | null
  min_interval_seconds: number | null
  paused_at: Date | null
  price_threshold_amount: string | null
  price_threshold_percent: string | null
  reference: string
  reseller_id: number
  /**
   * When its watch_started was written; null while it waits for the first good check of its fare.
   */
  started_at: Date | null
  tracked_fare_id: number
  watch_list_id: string
}

export interface WatchChange {
  change_id: string | null
  recorded_at: Generated<Date>
  reference: string
  reseller_id: number
  seq: number
  watch_event_id: string | null
  watch_id: string
}

export interface WatchEvent {
  after: ColumnType<unknown, string, string>
  before: ColumnType<unknown, string, string> | null
  /**
   * Of watch_started: when the last good check of the belief in `after` began.
   */
  detected_at: Date
  id: Generated<string>
  kind: string
  last_good_check_at: Date | null
  schema_version: Generated<number>
  tracked_fare_id: number
}

export interface WatchList {
  created_at: Generated<Date>
  id: Generated<string>
  name: string
  reseller_id: number
}

export interface DB {
  api_key: ApiKey
  availability_change: AvailabilityChange
  check_minute: CheckMinute
  evidence: Evidence
  fare_belief_version: FareBeliefVersion
  fare_schedule: FareSchedule
  fare_state: FareState
  feed_head: FeedHead
  incident: Incident
  migration_note: MigrationNote
  pending_absence: PendingAbsence
  place_version: PlaceVersion
  recheck_clock: RecheckClock
  reseller: Reseller
  route_availability_version: RouteAvailabilityVersion
  route_change: RouteChange
  route_version: RouteVersion
  schedule: Schedule
  snapshot: Snapshot
  snapshot_part: SnapshotPart
  sync_run: SyncRun
  tracked_fare: TrackedFare
  upstream_breaker: UpstreamBreaker
  upstream_budget: UpstreamBudget
  verify_result: VerifyResult
  watch: Watch
  watch_change: WatchChange
  watch_event: WatchEvent
  watch_list: WatchList
}
