import type { Scrub } from '../../base/secrets.ts'
import type { Tx } from '../../db/database.ts'
import type { RouteListName } from '../../upstream/route-list.ts'
import { type GuardLimits, suspicionOf } from '../plan/guard.ts'
import type { SnapshotPlan } from '../plan/plan-snapshot.ts'
import type { SyncReason } from '../runs/sync-run.ts'
import type { FetchedList } from '../snapshots/fetched-list.ts'
import { matchReview } from './match-review.ts'
import { releaseOf } from './release.ts'

/** Why a list is suspicious, the review it belongs to, and what releases it all the same. */
export interface Verdict {
  readonly suspicion: SyncReason
  /** The review that it joins; null where it is the first of its kind. */
  readonly reviewId: number | null
  /** Null where it is held. */
  readonly release: Release | null
}

export interface Release {
  readonly reviewId: number
  /** Lists that agree, this one included. */
  readonly lists: number
  readonly reason: SyncReason
}

export interface ToJudge {
  /** Null where it is only asked what would become of the list. */
  readonly runId: number | null
  readonly list: RouteListName
  readonly fetched: FetchedList
  readonly plan: SnapshotPlan
  readonly fetchedAt: Date
}

/** Null where nothing is suspicious. Leaves what `matchReview` leaves, where a review is joined. */
export async function judgeSnapshot(
  tx: Tx,
  { guard, scrub }: { readonly guard: GuardLimits; readonly scrub: Scrub },
  { runId, list, fetched, plan, fetchedAt }: ToJudge,
): Promise<Verdict | null> {
  const suspicion = suspicionOf(plan.effect, guard)
  if (suspicion === null) return null
  const { agreementShare } = guard
  const pairs = plan.staged.fetched - plan.staged.duplicates
  const joining = { list, fetched, pairs, staged: plan.isStaged, agreementShare, scrub }
  const review = await matchReview(tx, joining)
  if (review === undefined) return { suspicion, reviewId: null, release: null }
  const agreeing = { runId, fetchedAt, suspicion, effect: plan.effect }
  const { reviewId, heldRuns } = review
  const reason = releaseOf(review, agreeing, guard)
  const release = reason && { reviewId, lists: heldRuns.length + 1, reason }
  return { suspicion, reviewId, release }
}
