import { type AvailabilityChangeKind, ENDS, LOSSES, namesOf, REASONS } from './change-kinds.ts'

/*
 * Closed sets of names that are contract; change-kinds.ts has those of changes. Types, API schemas and the labels of metrics follow from these lists;
 * test/platform/db/kinds.pg.test.ts compares them with the check constraints of the migrated database.
 */

/** The two route lists of the upstream. */
export const ROUTE_LISTS = ['routes', 'with-availability'] as const
export type RouteListName = (typeof ROUTE_LISTS)[number]

/**
 * The account that owns the endpoints of operators. It is no reseller: it has no watches, no keys and no share. An operator
 * names it where it would name a reseller.
 */
export const OPERATORS = { id: -1, name: '(operators)' } as const

/** What a process does of the work. */
export const WORK_ROLES = ['sync', 'check', 'deliver'] as const
export type WorkRole = (typeof WORK_ROLES)[number]

/** What operators can pause. */
export const PAUSED_WORK = ['checks', 'syncs', 'deliveries'] as const
export type PausedWork = (typeof PAUSED_WORK)[number]

/** How a run of a route list ends in the process that runs it. */
export const RUN_OUTCOMES = ['applied', 'unchanged', 'held', 'rejected', 'failed'] as const
/** Every status of a finished run. The last two replace `held` once the run is not held any more. */
export const RUN_STATUSES = [...RUN_OUTCOMES, 'approved', 'dropped'] as const
export type RunStatus = (typeof RUN_STATUSES)[number]

/** What becomes of a held run. */
export const RUN_RESOLUTIONS = [
  'approved',
  'rejected',
  'normal_list',
  'agreed',
  'superseded',
] as const
export type RunResolution = (typeof RUN_RESOLUTIONS)[number]

/** Those of changes that a check can write. */
export type FareChangeKind = Exclude<AvailabilityChangeKind, 'expired'>

/** Why a fare was lost. */
export const LOSS_REASONS = namesOf(LOSSES)
export type LossReason = (typeof LOSS_REASONS)[number]

/** Why a fare or a watch ended. */
export const END_REASONS = namesOf(ENDS)
export type EndReason = (typeof END_REASONS)[number]

/** The reasons of changes of fares. */
export const CHANGE_REASONS = namesOf(REASONS)
export type ChangeReason = (typeof CHANGE_REASONS)[number]

/** The states of a fare: bookable if all legs are available, not_bookable if any leg is unavailable. */
export const BELIEF_STATES = ['bookable', 'not_bookable', 'unknown'] as const
export type BeliefState = (typeof BELIEF_STATES)[number]
/** Of an ended fare nothing is believed. */
export const FARE_STATES = [...BELIEF_STATES, 'ended'] as const

/** The beliefs about one leg. */
export const BELIEFS = ['available', 'unavailable', 'unknown'] as const
export type Belief = (typeof BELIEFS)[number]

/** Why the last answers did not show the price of a bookable fare. */
export const PRICE_REASONS = ['unreadable', 'unconfirmed', 'mixed_currencies', 'held'] as const
export type PriceReason = (typeof PRICE_REASONS)[number]
/** Why a price is shown as unknown, or the last answers did not show it. */
export const SHOWN_PRICE_REASONS = [...PRICE_REASONS, 'stale'] as const
export type ShownPriceReason = (typeof SHOWN_PRICE_REASONS)[number]

/** Why a belief is not shown, although it may be fresh: its answers contradict it, or say nothing. */
export const HIDDEN_REASONS = ['held', 'identity_mismatch', 'unanswered'] as const
export type HiddenReason = (typeof HIDDEN_REASONS)[number]

/** The states of a fare in which the schedule estimates how often it changes. */
export const RATED_STATES = ['available', 'unavailable'] as const
export type RatedState = (typeof RATED_STATES)[number]

/** How much an early detection is worth to a reseller. */
export const WATCH_PRIORITIES = ['low', 'normal', 'high', 'urgent'] as const
export type WatchPriority = (typeof WATCH_PRIORITIES)[number]

/** Why a fare may be urgent: it is checked before its turn. In the order in which they go first. */
export const FAST_LANES = ['max_delay', 'confirmation', 'first_check', 'retry'] as const
export type FastLane = (typeof FAST_LANES)[number]
/** The lanes of checks; `scheduled` is the regular one. */
export const CHECK_LANES = ['scheduled', ...FAST_LANES] as const
export type CheckLane = (typeof CHECK_LANES)[number]
/**
 * Why a fare was checked: in its turn, or sooner because its route moved; in a lane; on demand; or to see whether
 * it has ended (`ended`).
 */
export const CHECK_REASONS = [...CHECK_LANES, 'route_moved', 'on_demand'] as const
export type CheckReason = (typeof CHECK_REASONS)[number]
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
  'other_flight',
  'other_passengers',
  'unknown_members',
  'identity_mismatch',
] as const
/** With `circuit_open` no request was sent, so it is no result of a check. */
export type UnknownReason = (typeof UNKNOWN_REASONS)[number] | 'circuit_open'

/** The chat services that take messages at a URL. */
export const CHAT_FORMATS = ['slack', 'teams', 'discord', 'telegram', 'ntfy'] as const
export type ChatFormat = (typeof CHAT_FORMATS)[number]
/** The formats in which an endpoint receives records. `json` has a body of its reseller's own form. */
export const ENDPOINT_FORMATS = ['webhook', 'json', ...CHAT_FORMATS, 'email'] as const
export type EndpointFormat = (typeof ENDPOINT_FORMATS)[number]
/** What is limited for each target. */
export const LIMITED_PURPOSES = ['message', 'test'] as const
export type LimitedPurpose = (typeof LIMITED_PURPOSES)[number]
/**
 * Why an endpoint is disabled: by its reseller, by the receiver's 410, after five days of failures, or because no
 * operator allows its e-mail address.
 */
export const DISABLED_REASONS = ['paused', 'gone', 'failing', 'not_allowed'] as const
export type DisabledReason = (typeof DISABLED_REASONS)[number]
/** Those that the other endpoints of the reseller receive as an event. */
export const EVENT_REASONS = ['gone', 'failing', 'not_allowed'] as const
export type EventReason = (typeof EVENT_REASONS)[number]
export const DELIVERY_STATES = ['pending', 'delivered', 'dead'] as const
export type DeliveryState = (typeof DELIVERY_STATES)[number]
/** Why a delivery is not tried any more. */
export const DEAD_REASONS = ['too_old', 'blocked', 'too_large'] as const
export type DeadReason = (typeof DEAD_REASONS)[number]

/** The names of the event streams of the API. */
export const STREAMS = ['watch_changes', 'changes'] as const
export type StreamName = (typeof STREAMS)[number]

/**
 * Why an event stream ended: the client left; it read too slowly; its key is no longer valid; the process stops;
 * the feed could not be followed.
 */
export const STREAM_ENDS = ['client', 'slow', 'refused', 'shutdown', 'failed'] as const
export type StreamEnd = (typeof STREAM_ENDS)[number]

/**
 * What follows a check: the next one by the schedule, a confirmation at an instant, one early retry, or the next one
 * after a pause.
 */
export type FollowUp =
  | 'normal'
  | 'retry'
  | { readonly confirmAt: Date }
  | { readonly pauseSeconds: number }

/** `read` reads, `watch` changes watch lists and webhook endpoints, `operate` runs the service. */
export const SCOPES = ['read', 'watch', 'operate'] as const
export type Scope = (typeof SCOPES)[number]

/** The formats of an export of routes. */
export const EXPORT_FORMATS = ['csv', 'json'] as const
export type ExportFormat = (typeof EXPORT_FORMATS)[number]

/** The formats of an export of tables. */
export const TABLE_FORMATS = ['parquet', 'csv', 'jsonl'] as const
export type TableFormat = (typeof TABLE_FORMATS)[number]

/** The queues of jobs: the syncs, the checks of fares, and all other periodic work. */
export const JOB_QUEUES = ['route-sync', 'verify', 'periodic'] as const
export type JobQueue = (typeof JOB_QUEUES)[number]

/** `dead`: the job ran out of attempts or is not retryable, and waits for an operator. */
export const JOB_STATES = ['dead', 'active', 'waiting', 'delayed', 'done'] as const
export type JobState = (typeof JOB_STATES)[number]

/** What a watch shows of its fare. */
export const WATCH_STATUSES = ['new', 'followed', 'stale', 'expired', 'paused'] as const
