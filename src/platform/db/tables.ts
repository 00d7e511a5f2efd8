/* Generated from the migrated database by `npm run db:types`. Do not edit: change a migration and run it again. */

import type { ColumnType } from 'kysely'
import type { AvailabilityChangeKind, MassKind, RouteChangeKind } from '../base/change-kinds.ts'
import type {
  Belief,
  BeliefState,
  ChangeReason,
  CheckReason,
  DeadReason,
  DeliveryState,
  DisabledReason,
  EndpointFormat,
  EndReason,
  FastLane,
  HiddenReason,
  LimitedPurpose,
  PausedWork,
  PriceReason,
  RatedState,
  RouteListName,
  RunResolution,
  RunStatus,
  WatchPriority,
} from '../base/kinds.ts'

export type Generated<T> =
  T extends ColumnType<infer S, infer I, infer U>
    ? ColumnType<S, I | undefined, U>
    : ColumnType<T, T | undefined, T>

export type HeldListList = 'routes' | 'with-availability'

export interface Airport {
  continent: string
  country: string
  iata: string
  latitude: number
  longitude: number
  zone: string
}

export interface AllowedAddress {
  address_hash: Buffer
  allowed_at: Generated<Date>
  reseller_id: number
  shown: string
}

export interface AnswerHabit {
  accepted_at: Date | null
  answers: Generated<number>
  first_seen_at: Generated<Date>
  last_seen_at: Generated<Date>
  most_since: Date | null
  name: string
  share: Generated<number>
}

export interface ArchivableFareBeliefVersion {
  archivable_at: Date | null
  tracked_fare_id: number | null
  valid_from: Date | null
  valid_to: Date | null
}

export interface ArchivableRouteAvailabilityVersion {
  archivable_at: Date | null
  departure_id: string | null
  destination_id: string | null
  valid_from: Date | null
  valid_to: Date | null
}

export interface ArchivableRouteVersion {
  archivable_at: Date | null
  departure_id: string | null
  destination_id: string | null
  valid_from: Date | null
  valid_to: Date | null
}

export interface AskedFlight {
  airline: string | null
  asked_at: Date
  counts_until: Date
  differences: Generated<string[]>
  fare_id: number
  flight_id: string
  is_available: boolean
  is_recorded: Generated<boolean>
  numbers: string | null
  shows: string | null
  since: Date
}

export interface AuditEntry {
  action: string
  at: Generated<Date>
  id: Generated<number>
  made_by: string
  reason: string | null
  target: string | null
}

export interface AvailabilityChange {
  after: ColumnType<unknown, string, string>
  before: ColumnType<unknown, string, string>
  context: ColumnType<unknown, string, string> | null
  detected_at: Date
  evidence_hash: string | null
  held_since: Date | null
  id: Generated<string>
  kind: AvailabilityChangeKind
  last_good_check_at: Date | null
  provenance: ColumnType<unknown, string, string>
  reason: ChangeReason | null
  recorded_at: Generated<Date>
  schema_version: Generated<number>
  seq: number
  tracked_fare_id: number
}

export interface BeliefMinute {
  fares: number
  minute: Date
  p50_seconds: number
  p90_seconds: number
  stale: number
}

export interface CallMinute {
  calls: number
  lane: string
  minute: Date
  priority: string
  reseller_id: number
}

export interface CheckMinute {
  checks: number
  minute: Date
  unknown: number
}

export interface Delivery {
  attempts: Generated<number>
  claim_id: string | null
  dead_reason: DeadReason | null
  due_at: Generated<Date | null>
  ended_at: Date | null
  endpoint_id: string
  first_attempt_at: Date | null
  id: Generated<string>
  payload: ColumnType<unknown, string, string> | null
  previous_seq: number | null
  recorded_at: Date
  replayed: Generated<boolean>
  seq: number | null
  state: Generated<DeliveryState>
  type: string | null
}

export interface DeliveryAttempt {
  answer: Generated<string>
  delivery_id: string
  duration_ms: number
  id: Generated<number>
  outcome: string
  started_at: Date
  status: number | null
}

export interface Demo {
  flight_id: string | null
  history_since: Date | null
  history_until: Date | null
  is_row: Generated<boolean>
}

export interface DurableRouteVersion {
  added_run_id: number | null
  changed_at: Date | null
  departure_id: string | null
  departure_then: string | null
  destination_id: string | null
  destination_then: string | null
  removed_run_id: number | null
  span: string | null
  written_in: number | null
}

export interface Evidence {
  body: Buffer
  created_at: Generated<Date>
  hash: string
}

export interface FareSchedule {
  available_changes: Generated<number>
  available_exposure: Generated<number>
  available_value: Generated<number>
  changed_at: Date | null
  changes_per_day: number | null
  claim_id: string | null
  interval_seconds: Generated<number>
  lane: FastLane | null
  lane_due_at: Date | null
  lane_reseller: number | null
  leased_until: Generated<Date>
  not_before: Generated<Date>
  rate: number | null
  rated_at: Date | null
  rated_state: RatedState | null
  route: string | null
  route_moved: Generated<boolean>
  slot_at: Date | null
  tracked_fare_id: number
  unavailable_changes: Generated<number>
  unavailable_exposure: Generated<number>
  unavailable_value: Generated<number>
}

export interface FareState {
  asked_at: Date | null
  believed_since: Generated<Date>
  checks: Generated<number>
  contradicted_since: Date | null
  currency: string | null
  dated_at: Date | null
  departs_at: Date | null
  ever_available_at: Date | null
  expired_at: Date | null
  flights_id: number | null
  held: string | null
  held_since: Date | null
  held_until: Date | null
  hidden: HiddenReason | null
  last_check_at: Date | null
  last_check_why: CheckReason | null
  last_good_check_at: Date | null
  last_reason: string | null
  outbound: Generated<Belief>
  pair: Generated<BeliefState>
  past_since: Date | null
  price: string | null
  price_checked_at: Date | null
  price_reason: PriceReason | null
  return: Belief | null
  state: ColumnType<unknown, string, string>
  tracked_fare_id: number
  unusable: Generated<number>
  unusable_since: Date | null
}

export interface Generation {
  began_at: Generated<Date>
  database: string | null
  number: number
  timeline: number | null
}

export interface HeldList {
  first_run_id: number
  list: HeldListList
  lists: number
  rejected_at: Date | null
}

export interface HistoryFloor {
  before: Date | null
}

export interface Incident {
  closed_at: Date | null
  detail: Generated<ColumnType<unknown, string, string>>
  id: Generated<number>
  kind: MassKind
  opened_at: Generated<Date>
}

export interface KeptAnswer {
  answer: Buffer
  created_at: Generated<Date>
  key_id: number
  name_hash: Buffer
  request: Buffer
}

export interface MigrationNote {
  applied_at: Generated<Date>
  name: string
  older_code_may_run: boolean
}

export interface Pause {
  ends_at: Generated<Date>
  id: Generated<number>
  made_by: string
  reason: string
  starts_at: Generated<Date>
  what: PausedWork
}

export interface PendingAbsence {
  absences: number
  departure_id: string
  destination_id: string
  first_missed_at: Date
  last_seen_at: Date
  list: RouteListName
}

export interface PendingPlace {
  city: string
  country: string
  first_missed_at: Date
  iata: string
  last_seen_at: Date
  lists: number
  place_id: string
}

export interface PlaceOfSharedCode {
  place_id: string | null
}

export interface PlaceVersion {
  city: string
  country: string
  iata: string
  place_id: string
  valid_from: Date
  valid_to: Date | null
  written_in: Generated<string>
}

export interface PreviousSecret {
  endpoint_id: string
  id: Generated<number>
  secret: Buffer
  signs_until: Date
}

export interface Process {
  clock_ahead_seconds: number | null
  host: string
  id: string
  last_progress_at: Generated<Date>
  pid: number
  role: string
  started_at: Generated<Date>
  version: string
}

export interface Prune {
  before: Generated<Date>
  is_only: Generated<boolean>
  written_before: Generated<string>
}

export interface RenumberedChange {
  departure_id: string | null
  destination_id: string | null
  kind: string | null
  sync_run_id: number | null
}

export interface RenumberedPlace {
  durable_id: string | null
  place_id: string | null
  present_id: string | null
}

export interface Reseller {
  created_at: Generated<Date>
  deleted_at: Date | null
  disabled_at: Date | null
  first_seq: Generated<number>
  id: Generated<number>
  last_seq: Generated<number>
  name: string
  routes: ColumnType<unknown, string, string> | null
  share: Generated<number>
}

export interface ResellerQueue {
  credit: Generated<number>
  fares: Generated<number>
  moved_at: Generated<Date>
  pass: Generated<number>
  promised: Generated<number>
  reseller_id: number
  scores: Generated<number>
  speed: Generated<number>
  v: Generated<number>
}

export interface RouteChange {
  after: ColumnType<unknown, string, string> | null
  before: ColumnType<unknown, string, string> | null
  departure_id: string | null
  destination_id: string | null
  first_missed_at: Date
  first_seen_at: Date | null
  id: Generated<string>
  kind: RouteChangeKind
  last_seen_at: Date | null
  place_id: string | null
  recorded_at: Generated<Date>
  route: ColumnType<unknown, string, string> | null
  seq: number
  sync_run_id: number
}

export interface ScheduleFacts {
  available_changes: Generated<number>
  available_exposure: Generated<number>
  claimed_at: Date | null
  learned_at: Generated<Date>
  min_recheck_seconds: number | null
  only_row: Generated<boolean>
  pass: Generated<number>
  requests_per_second: number | null
  soon_expected: Generated<number>
  soon_found: Generated<number>
  unavailable_changes: Generated<number>
  unavailable_exposure: Generated<number>
}

export interface SignInCode {
  expires_at: Date
  hash: Buffer
  made_by: number | null
  operator: boolean
  reseller_id: number | null
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
  confirmations: number | null
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
  list: RouteListName
  live: number | null
  lost: number | null
  not_modified: Generated<boolean>
  pending_absences: number | null
  pending_places: number | null
  places_changed: number | null
  reason: string | null
  reason_code: string | null
  removed: number | null
  resolution: RunResolution | null
  resolved_at: Date | null
  resolved_by: number | null
  returned: number | null
  started_at: Generated<Date>
  status: RunStatus | null
  unknown_pairs: number | null
  would_add: number | null
  would_remove: number | null
  written_in: Generated<string>
}

export interface TargetPace {
  next_at: Date
  purpose: LimitedPurpose
  target_hash: Buffer
}

export interface TrackedFare {
  created_at: Generated<Date>
  departs_on: ColumnType<Date, string, string> | null
  ended_at: Date | null
  flight_id: string
  id: Generated<number>
  max_delay_seconds: number | null
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

export interface Turn {
  max_seconds: number | null
  min_seconds: number | null
  promised: Generated<number>
  reseller_id: number
  score: number
  tracked_fare_id: number
  vdue: number
  weight: number
}

export interface UpstreamBreaker {
  breakers: Generated<ColumnType<unknown, string, string>>
  only_row: Generated<boolean>
}

export interface UpstreamBudget {
  limit_per_second: number | null
  limit_reason: string | null
  limited_by: string | null
  limited_until: Generated<Date>
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

export interface WarningReport {
  only_row: Generated<boolean>
  read_at: Generated<Date>
  warnings: Generated<ColumnType<unknown, string, string>>
}

export interface Watch {
  began_at: Generated<Date>
  created_at: Generated<Date>
  departs_on: ColumnType<Date, string, string> | null
  departure: string | null
  destination: string | null
  either_direction: boolean | null
  ended_at: Date | null
  id: Generated<string>
  intents_notified: Generated<string[]>
  last_notified_amount: string | null
  last_notified_currency: string | null
  max_delay_seconds: number | null
  min_interval_seconds: number | null
  new_low_days: number | null
  paid_amount: string | null
  paid_currency: string | null
  paused_at: Date | null
  price_below_amount: string | null
  price_below_currency: string | null
  price_drop_amount: string | null
  price_drop_percent: string | null
  price_threshold_amount: string | null
  price_threshold_percent: string | null
  priority: Generated<WatchPriority>
  reference: string
  reseller_id: number
  started_at: Date | null
  tracked_fare_id: number | null
  watch_list_id: string
}

export interface WatchChange {
  change_id: string | null
  intents: Generated<string[]>
  list: string | null
  notified_amount: string | null
  notified_currency: string | null
  recorded_at: Generated<Date>
  reference: string | null
  reseller_id: number
  route_seq: number | null
  saving: string | null
  seq: number
  watch_event_id: string | null
  watch_id: string | null
  written_in: Generated<string>
}

export interface WatchEvent {
  after: ColumnType<unknown, string, string>
  before: ColumnType<unknown, string, string> | null
  context: ColumnType<unknown, string, string> | null
  detected_at: Date
  id: Generated<string>
  kind: string
  last_good_check_at: Date | null
  reason: EndReason | null
  schema_version: Generated<number>
  tracked_fare_id: number
}

export interface WatchLink {
  expires_at: Date
  hash: Buffer
  watch_id: string
}

export interface WatchList {
  created_at: Generated<Date>
  id: Generated<string>
  name: string
  reseller_id: number
}

export interface WebhookEndpoint {
  created_at: Generated<Date>
  cursor_seq: number
  description: Generated<string>
  digest: ColumnType<unknown, string, string> | null
  disabled_at: Date | null
  disabled_reason: DisabledReason | null
  failing_since: Date | null
  failures: Generated<number>
  format: EndpointFormat
  header_names: Generated<string[]>
  headers: Buffer | null
  held_until: Date | null
  id: Generated<string>
  kinds: string[] | null
  last_passed_seq: Generated<number>
  last_success_at: Date | null
  lists: string[] | null
  open_until: Date | null
  quiet_hours: ColumnType<unknown, string, string> | null
  reasons: string[] | null
  reseller_id: number
  rules: ColumnType<unknown, string, string> | null
  secret: Buffer | null
  target: Buffer
  target_hash: Buffer | null
  target_shown: string
  template: ColumnType<unknown, string, string> | null
  updated_at: Generated<Date>
}

export interface DB {
  airport: Airport
  allowed_address: AllowedAddress
  answer_habit: AnswerHabit
  archivable_fare_belief_version: ArchivableFareBeliefVersion
  archivable_route_availability_version: ArchivableRouteAvailabilityVersion
  archivable_route_version: ArchivableRouteVersion
  asked_flight: AskedFlight
  audit_entry: AuditEntry
  availability_change: AvailabilityChange
  belief_minute: BeliefMinute
  call_minute: CallMinute
  check_minute: CheckMinute
  delivery: Delivery
  delivery_attempt: DeliveryAttempt
  demo: Demo
  durable_route_version: DurableRouteVersion
  evidence: Evidence
  fare_schedule: FareSchedule
  fare_state: FareState
  generation: Generation
  held_list: HeldList
  history_floor: HistoryFloor
  incident: Incident
  kept_answer: KeptAnswer
  migration_note: MigrationNote
  pause: Pause
  pending_absence: PendingAbsence
  pending_place: PendingPlace
  place_of_shared_code: PlaceOfSharedCode
  place_version: PlaceVersion
  previous_secret: PreviousSecret
  process: Process
  prune: Prune
  renumbered_change: RenumberedChange
  renumbered_place: RenumberedPlace
  reseller: Reseller
  reseller_queue: ResellerQueue
  route_change: RouteChange
  schedule_facts: ScheduleFacts
  sign_in_code: SignInCode
  snapshot: Snapshot
  snapshot_part: SnapshotPart
  sync_run: SyncRun
  target_pace: TargetPace
  tracked_fare: TrackedFare
  turn: Turn
  upstream_breaker: UpstreamBreaker
  upstream_budget: UpstreamBudget
  verify_result: VerifyResult
  warning_report: WarningReport
  watch: Watch
  watch_change: WatchChange
  watch_event: WatchEvent
  watch_link: WatchLink
  watch_list: WatchList
  webhook_endpoint: WebhookEndpoint
}
