import type { Tx } from '../../db/database.ts'
import { type GuardLimits, type SnapshotEffect, suspicionOf } from '../plan/guard.ts'
import type { SyncDeps } from '../plan/plan-snapshot.ts'
import type { SyncReason } from '../runs/sync-run.ts'
import { isSeasonal, resemblesCut } from './assess-loss.ts'
import { type MatchArgs, matchReview, type ReviewState } from './match-review.ts'
import { readLossPattern } from './read-loss-pattern.ts'

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
  const agreeing = { ...judged, suspicion: reason, effect }
  const released =
    releaseOf(review, { ...agreeing, seasonal: false }, guard) ??
    (await seasonRelease(tx, scrub, { review, agreeing, judged, guard }))
  const release = released && { reviewId, lists: heldRuns.length + 1, reason: released }
  return { reason, reviewId, release }
}

interface SeasonArgs {
  readonly review: ReviewState
  readonly agreeing: Omit<AgreeingList, 'seasonal'>
  readonly judged: JudgedList
  readonly guard: GuardLimits
}

/**
 * The release of a loss that last year explains. The pattern is read only if it can release the list, because it stages the
 * last accepted list. That list itself has no pattern: nothing of it is missing from it.
 */
async function seasonRelease(
  tx: Tx,
  scrub: SyncDeps['scrub'],
  { review, agreeing, judged, guard }: SeasonArgs,
): Promise<SyncReason | null> {
  const { list, fetched, fetchedAt, plan } = judged
  const release = releaseOf(review, { ...agreeing, seasonal: true }, guard)
  if (release === null || !plan.isStaged || !isLossAlone(plan.effect, guard)) return null
  const { live, missing } = plan.effect
  const counts = { rows: plan.staged.fetched, bytes: fetched.bytes, live, missing }
  const pattern = await readLossPattern(tx, { ...counts, list, at: fetchedAt, scrub })
  return isSeasonal(pattern) && !resemblesCut(pattern) ? release : null
}

/** Whether a list would be accepted if it lacked nothing: last year says nothing about additions and places. */
export function isLossAlone(effect: SnapshotEffect, limits: GuardLimits): boolean {
  return suspicionOf({ ...effect, newlyAbsent: 0, missing: 0, removed: 0 }, limits) === null
}

export interface AgreeingList extends Pick<JudgedList, 'runId' | 'fetchedAt'> {
  readonly suspicion: SyncReason
  readonly effect: SnapshotEffect
  /** Whether it lacks the routes that ended in the same weeks of last year. */
  readonly seasonal: boolean
}

const HOUR_MS = 3_600_000

/**
 * A season that repeats itself needs less proof: one list less and half of the hours, by default two lists over 12 hours.
 * Relative to the settings, so that an operator who asks for more proof, or who lets no list release itself, gets that.
 */
function seasonLimits({ releaseLists, releaseHours }: GuardLimits) {
  const lists = Math.min(releaseLists, Math.max(2, releaseLists - 1))
  return { releaseLists: lists, releaseHours: releaseHours / 2 }
}

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
  const needed = seasonal ? seasonLimits(limits) : limits
  if (lists < needed.releaseLists || spanMs < needed.releaseHours * HOUR_MS) return null
  const runs =
    runId === null ? `${heldRuns.join(', ')} and this one` : [...heldRuns, runId].join(', ')
  return {
    code: 'agreed',
    text: `${lists} lists over ${Math.floor(spanMs / HOUR_MS)} hours agree (runs ${runs})${seasonal ? ', and lack what ended in the same weeks of last year' : ''}; held because ${suspicion.text}`,
  }
}
