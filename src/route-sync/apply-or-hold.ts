import type { RouteListName } from '../base/kinds.ts'
import type { Tx } from '../db/database.ts'
import { countPending } from './plan/absences.ts'
import { beginApply, planSnapshot, type SnapshotPlan, type SyncDeps } from './plan/plan-snapshot.ts'
import { judgeSnapshot, type Suspicion } from './review/judge-snapshot.ts'
import { assignValidTime, closeRun, dropHeldRuns, type Stopwatch } from './runs/run-records.ts'
import type { SyncCounts, SyncOutcome } from './runs/sync-run.ts'
import { findLastAccepted } from './runs/sync-run-queries.ts'
import type { FetchedList } from './snapshots/fetched-list.ts'
import { keepSnapshot } from './snapshots/snapshots.ts'

/** The run that a list belongs to. */
export interface SyncRun {
  readonly runId: number
  readonly list: RouteListName
  readonly stopwatch: Stopwatch
}

/** Stages a list, judges it, and applies it or holds it whole, in the caller's transaction. */
export async function applyOrHold(
  tx: Tx,
  deps: SyncDeps,
  run: SyncRun,
  fetched: FetchedList,
): Promise<SyncOutcome> {
  await beginApply(tx)
  const instants = await assignValidTime(tx, run.runId)
  const previous = await findLastAccepted(tx, run.list)
  const { confirmations } = deps
  const plan = await planSnapshot(tx, deps, {
    ...run,
    ...instants,
    fetched,
    previous,
    confirmations,
  })
  const suspicion = await judgeSnapshot(tx, deps, { ...run, ...instants, fetched, plan })
  await keepSnapshot(tx, fetched.contentHash, () => fetched.packed())
  if (suspicion !== null && suspicion.release === null) return hold(tx, run, plan, suspicion)

  const release = suspicion?.release ?? null
  const counts = await run.stopwatch.time('apply', () =>
    plan.apply({
      runId: run.runId,
      ...instants,
      previousAt: previous?.arrivedAt ?? null,
      confirmations,
      lists: release?.lists ?? 1,
    }),
  )
  const dropping = { list: run.list, resolvedBy: run.runId }
  if (release !== null) {
    await dropHeldRuns(tx, { ...dropping, resolution: 'agreed', reviewId: release.reviewId })
  }
  await dropHeldRuns(tx, { ...dropping, resolution: 'normal_list' })
  return closeRun(tx, {
    ...run,
    status: plan.effect.repeated && !hasEffect(counts) ? 'unchanged' : 'applied',
    baseline: previous === null,
    reason: release?.reason,
    reviewId: release?.reviewId,
    counts: { ...plan.staged, ...counts },
    durationsMs: run.stopwatch.durations(),
  })
}

async function hold(
  tx: Tx,
  run: SyncRun,
  { staged, effect }: SnapshotPlan,
  { reason, reviewId }: Suspicion,
): Promise<SyncOutcome> {
  const nothing = { added: 0, removed: 0, returned: 0, placesChanged: 0, gained: 0, lost: 0 }
  return closeRun(tx, {
    ...run,
    status: 'held',
    reason,
    reviewId: reviewId ?? run.runId,
    counts: {
      ...staged,
      ...nothing,
      live: effect.live,
      pendingAbsences: await countPending(tx, run.list),
    },
    durationsMs: run.stopwatch.durations(),
  })
}

function hasEffect(counts: Partial<SyncCounts>): boolean {
  const { added, removed, placesChanged, gained, lost } = counts
  return [added, removed, placesChanged, gained, lost].some((count) => (count ?? 0) > 0)
}
