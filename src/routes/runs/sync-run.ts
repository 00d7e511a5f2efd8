import type { RouteListName, RunStatus } from '../../platform/base/kinds.ts'
import type { UpstreamWait } from '../../upstream/upstream-errors.ts'

/** Milliseconds that each stage of a run took; a stage that was not reached is missing. */
export type StageDurations = Partial<Record<'fetch' | 'stage' | 'diff' | 'apply', number>>

/** Why a run was held, rejected or failed: a stable code, and a sentence for people. */
export interface SyncReason {
  readonly code: string
  readonly text: string
  /** Whether the same request may succeed a little later. */
  readonly retryable?: boolean
  /** Set if the upstream asked us to wait, or its circuit breaker is open: when to request again. */
  readonly wait?: UpstreamWait
}

/** The counts of a run that ended before it counted anything. */
export const NO_COUNTS = {
  /** Routes in the list, duplicates included. */
  fetched: null,
  duplicates: null,
  /** Places that the list gave with different attributes. */
  conflictingPlaces: null,
  /** Pairs of a `with-availability` list that are not among the routes. */
  unknownPairs: null,
  /** Live routes after the run; of `with-availability`, available ones. */
  live: null,
  added: null,
  removed: null,
  /** Routes that were absent and returned before the absence was confirmed. */
  returned: null,
  pendingAbsences: null,
  placesChanged: null,
  /** Places whose new attributes await confirmation. */
  pendingPlaces: null,
  gained: null,
  lost: null,
}

/** The counts of a run. A count is null if the run ended before it was made. */
export type SyncCounts = Readonly<Record<keyof typeof NO_COUNTS, number | null>>

/** What a held list would have done if it had been approved at once; null for a list that was not held. */
export interface HeldEffect {
  /** Routes that it would have added; of `with-availability`, made available. */
  readonly wouldAdd: number | null
  /** Routes that it would have removed; of `with-availability`, made unavailable. */
  readonly wouldRemove: number | null
}

/** The result of a run. */
export interface SyncOutcome extends SyncCounts {
  readonly runId: number
  readonly list: RouteListName
  readonly status: RunStatus
  readonly baseline: boolean
  readonly reason: SyncReason | null
  /** Of a list that was held: agreeing lists in a row, this one included. */
  readonly agreeingLists?: number
  readonly durationsMs: StageDurations
}
