import type { GuardLimits, SnapshotEffect } from '../plan/guard.ts'
import type { SyncReason } from '../runs/sync-run.ts'

/** What is held under one review already. */
export interface ReviewState {
  readonly reviewId: number
  /** Runs that are held, in their order, since a list of another review came in between. */
  readonly heldRuns: readonly number[]
  /** When the list of the first of them arrived. */
  readonly heldSince: Date | null
  /** Whether a person has rejected a list of this review. */
  readonly rejected: boolean
}

export interface AgreeingList {
  /** Null where it is only asked what would become of it. */
  readonly runId: number | null
  readonly fetchedAt: Date
  readonly suspicion: SyncReason
  readonly effect: SnapshotEffect
}

const HOUR_MS = 3_600_000

/**
 * Says why a suspicious list is applied after all: an accident does not come back unchanged for a day. Null where it
 * stays held: too few, too soon, or too dear a mistake to make unasked. What a person rejected only a person approves.
 */
export function releaseOf(
  { heldRuns, heldSince, rejected }: ReviewState,
  { runId, fetchedAt, suspicion, effect }: AgreeingList,
  limits: GuardLimits,
): SyncReason | null {
  const lists = heldRuns.length + 1
  const others =
    runId === null ? `${heldRuns.join(', ')} and this one` : [...heldRuns, runId].join(', ')
  const spanMs = heldSince === null ? 0 : fetchedAt.getTime() - heldSince.getTime()
  if (rejected || suspicion.code === 'empty') return null
  if (effect.missing > limits.releaseLostShare * effect.live) return null
  if (lists < limits.releaseLists || spanMs < limits.releaseHours * HOUR_MS) return null
  return {
    code: 'agreed',
    text: `${lists} lists over ${Math.floor(spanMs / HOUR_MS)} hours agree (runs ${others}); held was: ${suspicion.text}`,
  }
}
