import type { RunStatus } from '../../base/kinds.ts'
import type { RouteListName } from '../../upstream/route-list.ts'
import type { UpstreamWait } from '../../upstream/upstream-errors.ts'

/** What is asked of a run. */
export interface SyncRequest {
  readonly list: RouteListName
  /** When the schedule's slot was due. A run since then has done its work, whoever asked for that one. */
  readonly dueAt?: Date | undefined
}

/** Milliseconds that each stage of a run took; a stage that was not reached is missing. */
export type StageDurations = Partial<Record<'fetch' | 'stage' | 'diff' | 'apply', number>>

/** Why a run was held, rejected or failed: a stable code, and a sentence for people. */
export interface SyncReason {
  readonly code: string
  readonly text: string
  /** Whether the same call may succeed a little later. */
  readonly retryable?: boolean
  /** Where the upstream asked us to wait, or we did not ask it: not a failure, and when to ask it again. */
  readonly wait?: UpstreamWait
}

/** What a run counted; null where it did not come to count it. */
export interface SyncCounts {
  /** Routes in the list, duplicates included. */
  readonly fetched: number | null
  readonly duplicates: number | null
  /** Places that the list gave with different attributes. */
  readonly conflictingPlaces: number | null
  /** `with-availability`: pairs that are not among the routes. */
  readonly unknownPairs: number | null
  /** Live routes after the run; of `with-availability`, available ones. */
  readonly live: number | null
  readonly added: number | null
  readonly removed: number | null
  /** Absent, and back before the absence was confirmed. */
  readonly returned: number | null
  readonly pendingAbsences: number | null
  readonly placesChanged: number | null
  readonly gained: number | null
  readonly lost: number | null
}

/** What came of one run. */
export interface SyncOutcome extends SyncCounts {
  readonly runId: number
  readonly list: RouteListName
  readonly status: RunStatus
  readonly baseline: boolean
  readonly reason: SyncReason | null
  /** Of a list that was suspicious: the first run of its review, itself where it opened one. */
  readonly reviewId?: number | null
  readonly durationsMs: StageDurations
}

export const NO_COUNTS: SyncCounts = {
  fetched: null,
  duplicates: null,
  conflictingPlaces: null,
  unknownPairs: null,
  live: null,
  added: null,
  removed: null,
  returned: null,
  pendingAbsences: null,
  placesChanged: null,
  gained: null,
  lost: null,
}
