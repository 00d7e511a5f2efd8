import type { Tx } from '../../platform/db/database.ts'
import { type GuardLimits, type SnapshotEffect, suspicionOf } from '../plan/guard.ts'
import type { SyncDeps } from '../plan/plan-snapshot.ts'
import type { SyncReason } from '../runs/sync-run.ts'
import { type MatchArgs, matchReview, type ReviewState } from './match-review.ts'

/** Why a list is suspicious, the review that it belongs to, and why it is applied nevertheless. */
export interface Suspicion {
  readonly reason: SyncReason
  /** The review that the list joins; null if it agrees with none. */
  readonly reviewId: number | null
  /** Null if the list is held. */
  readonly release: Release | null
}

export interface Release {
  readonly reviewId: number
  /** Agreeing lists, this one included. */
  readonly lists: number
  readonly reason: SyncReason
}

export interface JudgedList extends Omit<MatchArgs, 'agreementShare' | 'scrub'> {
  /** Null for a dry run. */
  readonly runId: number | null
  readonly fetchedAt: Date
}

/** Returns null for a list that is not suspicious. Leaves the temporary tables of `matchReview` if a review matches. */
export async function judgeSnapshot(
  tx: Tx,
  { guard, scrub }: Pick<SyncDeps, 'guard' | 'scrub'>,
  judged: JudgedList,
): Promise<Suspicion | null> {
  const { effect } = judged.plan
  const reason = suspicionOf(effect, guard)
  if (reason === null) return null
  const { agreementShare } = guard
  const review = await matchReview(tx, { ...judged, agreementShare, scrub })
  if (review === undefined) return { reason, reviewId: null, release: null }
  const { reviewId, heldRuns } = review
  const released = releaseOf(review, { ...judged, suspicion: reason, effect }, guard)
  const release = released && { reviewId, lists: heldRuns.length + 1, reason: released }
  return { reason, reviewId, release }
}

export interface AgreeingList extends Pick<JudgedList, 'runId' | 'fetchedAt'> {
  readonly suspicion: SyncReason
  readonly effect: SnapshotEffect
}

const HOUR_MS = 3_600_000

/**
 * Returns why a suspicious list is applied nevertheless: an accident does not repeat unchanged for a day. Returns null
 * if the list stays held: too few lists agree, they span too few hours, the list is empty or lacks so many routes that
 * a mistake would cost too much, or an operator has rejected a list of the review.
 */
export function releaseOf(
  { heldRuns, heldSince, rejected }: ReviewState,
  { runId, fetchedAt, suspicion, effect }: AgreeingList,
  limits: GuardLimits,
): SyncReason | null {
  const lists = heldRuns.length + 1
  const spanMs = heldSince === null ? 0 : fetchedAt.getTime() - heldSince.getTime()
  if (rejected || suspicion.code === 'empty') return null
  if (effect.missing > limits.releaseLostShare * effect.live) return null
  if (lists < limits.releaseLists || spanMs < limits.releaseHours * HOUR_MS) return null
  const runs =
    runId === null ? `${heldRuns.join(', ')} and this one` : [...heldRuns, runId].join(', ')
  return {
    code: 'agreed',
    text: `${lists} lists over ${Math.floor(spanMs / HOUR_MS)} hours agree (runs ${runs}); held because ${suspicion.text}`,
  }
}
