import type { Tx } from '../../db/database.ts'
import { type GuardLimits, type SnapshotEffect, suspicionOf } from '../plan/guard.ts'
import type { SyncDeps } from '../plan/plan-snapshot.ts'
import type { SyncReason } from '../runs/sync-run.ts'
import { isSeasonal } from './assess-loss.ts'
import { type MatchArgs, matchReview, type ReviewState } from './match-review.ts'
import { readSeason } from './read-loss-pattern.ts'

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
  const season = await readSeason(tx, judged.list, judged.fetchedAt)
  const seasonal = isSeasonal({ missing: effect.missing, season })
  const released = releaseOf(review, { ...judged, suspicion: reason, effect, seasonal }, guard)
  const release = released && { reviewId, lists: heldRuns.length + 1, reason: released }
  return { reason, reviewId, release }
}

export interface AgreeingList extends Pick<JudgedList, 'runId' | 'fetchedAt'> {
  readonly suspicion: SyncReason
  readonly effect: SnapshotEffect
  /** Whether it lacks the routes that ended in the same weeks of last year. */
  readonly seasonal: boolean
}

const HOUR_MS = 3_600_000

/** A season that repeats itself needs less proof. The limits of the guard stay: such a list is held as well. */
const SEASON_RELEASE = { releaseLists: 2, releaseHours: 12 }

/**
 * Returns why a suspicious list is applied nevertheless: an accident does not repeat unchanged for a day. Returns null
 * if the list stays held: too few lists agree, they span too few hours, the list is empty or lacks so many routes that
 * a mistake would cost too much, or an operator has rejected a list of the review.
 */
export function releaseOf(
  { heldRuns, heldSince, rejected }: ReviewState,
  { runId, fetchedAt, suspicion, effect, seasonal }: AgreeingList,
  limits: GuardLimits,
): SyncReason | null {
  const lists = heldRuns.length + 1
  const spanMs = heldSince === null ? 0 : fetchedAt.getTime() - heldSince.getTime()
  if (rejected || suspicion.code === 'empty') return null
  if (effect.missing > limits.releaseLostShare * effect.live) return null
  const needed = seasonal ? SEASON_RELEASE : limits
  if (lists < needed.releaseLists || spanMs < needed.releaseHours * HOUR_MS) return null
  const runs =
    runId === null ? `${heldRuns.join(', ')} and this one` : [...heldRuns, runId].join(', ')
  return {
    code: 'agreed',
    text: `${lists} lists over ${Math.floor(spanMs / HOUR_MS)} hours agree (runs ${runs})${seasonal ? ', and lack what ended in the same weeks of last year' : ''}; held because ${suspicion.text}`,
  }
}
