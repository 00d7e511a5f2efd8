import type { Clock } from '../../base/clock.ts'
import type { Db, Tx } from '../../db/database.ts'
import { inTransaction } from '../../db/transaction.ts'
import { beginApply, planFetched, type SyncDeps, stagedCounts } from '../apply-or-hold.ts'
import { whenListIsFree } from '../runs/list-lock.ts'
import { dropHeldRuns, recordApproval } from '../runs/resolve-runs.ts'
import { closeRun, findLastAccepted, settleApprovedAt } from '../runs/run-records.ts'
import { createStopwatch } from '../runs/stopwatch.ts'
import { NotHeldError, RunNotFoundError, StaleRunError } from '../runs/sync-errors.ts'
import type { SyncOutcome } from '../runs/sync-run.ts'
import { findFinishedRun, type SyncRunRow } from '../runs/sync-run-queries.ts'
import { type FetchedList, listOfRun } from '../snapshots/fetched-list.ts'
import { SnapshotNotKeptError, touchSnapshot } from '../snapshots/snapshots.ts'

export type DecideDeps = Pick<SyncDeps, 'db' | 'scrub' | 'onProgress'> & { readonly clock: Clock }

/** Of a list that a person has looked at, absence is not in doubt. */
const CONFIRMATIONS_OF_A_PERSON = 1

/**
 * Applies a held list as it was fetched, from the moment of the approval on: what was published of the time since it
 * came stays so. What it lacks is removed at once. Other held runs of the list are dropped: they were judged by
 * what no longer holds.
 *
 * One transaction under the list's lock: a process that dies leaves the run held. Throws RunNotFoundError,
 * NotHeldError, StaleRunError, SnapshotNotKeptError, SnapshotDamagedError.
 */
export async function approveRun(
  deps: DecideDeps,
  runId: number,
  signal: AbortSignal,
): Promise<SyncOutcome> {
  const { list } = await findHeld(deps.db, runId)
  return whenListIsFree(deps, { list, signal }, async (session) => {
    const { contentHash, bytes } = await findHeld(session, runId)
    if (contentHash === null || bytes === null) throw new SnapshotNotKeptError(runId)
    const kept = listOfRun({ runId, contentHash, bytes })
    const chunks = await kept.chunks(session)
    const fetched = { ...kept, chunks: async () => chunks }
    return inTransaction(session, (tx) => applyHeld(tx, deps, { runId, fetched }))
  })
}

interface Approval {
  readonly runId: number
  readonly fetched: FetchedList
}

async function applyHeld(
  tx: Tx,
  deps: DecideDeps,
  { runId, fetched }: Approval,
): Promise<SyncOutcome> {
  const stopwatch = createStopwatch()
  await beginApply(tx)
  const held = await findHeld(tx, runId)
  const { list } = held
  const previous = await findLastAccepted(tx, list)
  if (previous !== null && isLater(previous.fetchedAt, held)) {
    throw new StaleRunError(runId, previous.id)
  }
  const instants = await settleApprovedAt(tx, runId)
  const confirmations = CONFIRMATIONS_OF_A_PERSON
  const plan = await planFetched(
    tx,
    deps,
    { list, stopwatch },
    { fetched, previous, confirmations, ...instants },
  )
  const previousAt = previous?.arrivedAt ?? null
  const counts = await stopwatch.time('apply', () =>
    plan.apply({ runId, ...instants, previousAt, confirmations, lists: 1 }),
  )
  const outcome = await closeRun(tx, {
    runId,
    list,
    status: 'approved',
    baseline: previous === null,
    ...(held.reason === null ? {} : { reason: held.reason }),
    ...(typeof held.reviewId === 'number' ? { reviewId: held.reviewId } : {}),
    counts: { ...stagedCounts(plan), ...counts },
    durationsMs: stopwatch.durations(),
  })
  await recordApproval(tx, runId)
  await dropHeldRuns(tx, { list, resolution: 'superseded', resolvedBy: runId })
  await touchSnapshot(tx, fetched.contentHash)
  return outcome
}

function isLater(instant: Date, { fetchedAt }: SyncRunRow): boolean {
  return fetchedAt === null || instant.getTime() > fetchedAt.getTime()
}

/**
 * Drops a held run and all that joined its review, under the list's lock; nothing else changes. Returns the runs. The
 * same list again joins the review, and only a person can approve it.
 *
 * Throws RunNotFoundError, NotHeldError.
 */
export async function rejectRun(
  deps: Pick<DecideDeps, 'db' | 'clock'>,
  runId: number,
  signal: AbortSignal,
): Promise<number[]> {
  const { list } = await findHeld(deps.db, runId)
  return whenListIsFree(deps, { list, signal }, (session) =>
    inTransaction(session, async (tx) => {
      const { reviewId } = await findHeld(tx, runId)
      const dropping = { list, resolution: 'rejected', resolvedBy: null } as const
      return dropHeldRuns(tx, { ...dropping, reviewId: reviewId ?? runId })
    }),
  )
}

async function findHeld(db: Db, runId: number): Promise<SyncRunRow> {
  const run = await findFinishedRun(db, runId)
  if (run === undefined) throw new RunNotFoundError(runId)
  if (run.status !== 'held') throw new NotHeldError(runId, run.status)
  return run
}
