import { sql, type Tx } from '../../db/database.ts'
import type { RouteListName } from '../../upstream/route-list.ts'
import { type SyncDeps, stagedCounts } from '../apply-or-hold.ts'
import { suspicionOf } from '../plan/guard.ts'
import {
  type Forecast,
  planAvailability,
  planRoutes,
  type SnapshotPlan,
} from '../plan/plan-snapshot.ts'
import { rolledBack } from '../plan/rolled-back.ts'
import { findRejection, type Rejection } from '../runs/resolve-runs.ts'
import { findLastAccepted } from '../runs/run-records.ts'
import { createStopwatch } from '../runs/stopwatch.ts'
import { NotHeldError, RunNotFoundError } from '../runs/sync-errors.ts'
import type { SyncReason } from '../runs/sync-run.ts'
import { findFinishedRun, listReviewRuns, type SyncRunRow } from '../runs/sync-run-queries.ts'
import { type FetchedList, listOfRun, readSlices } from '../snapshots/fetched-list.ts'
import { SnapshotNotKeptError } from '../snapshots/snapshots.ts'
import { type PlanExamples, readExamples } from './plan-examples.ts'

/** What applying a list would do, were it done now. */
export interface PlanReport {
  readonly list: RouteListName
  readonly baseline: boolean
  readonly bytes: number
  /** Routes in the list, duplicates included. */
  readonly fetched: number
  readonly duplicates: number
  readonly conflictingPlaces: number
  /** Live (or available) routes before it. */
  readonly liveBefore: number
  /** Of those, the ones that it lacks. */
  readonly missing: number
  /** Of those, the ones that the accepted list before it held. */
  readonly newlyAbsent: number
  readonly forecast: Forecast
  /** Why the guard would hold it; null where it would not. */
  readonly verdict: SyncReason | null
  readonly examples: PlanExamples
}

/** What is to be decided about a held run. */
export interface Review {
  readonly run: SyncRunRow
  /** All that are held under the same review, it included. */
  readonly heldWith: readonly number[]
  /** What a person rejected of that review already: it never releases itself. */
  readonly rejected: Rejection | null
  readonly plan: PlanReport
}

export type ReviewDeps = Pick<SyncDeps, 'db' | 'scrub' | 'guard' | 'onProgress'>

/** Says what is suspicious about a held run, and what approving it would do now. Throws as approveRun does. */
export async function reviewRun(deps: ReviewDeps, runId: number): Promise<Review> {
  const run = await findFinishedRun(deps.db, runId)
  if (run === undefined) throw new RunNotFoundError(runId)
  if (run.status !== 'held') throw new NotHeldError(runId, run.status)
  const { list, contentHash, bytes } = run
  if (contentHash === null || bytes === null) throw new SnapshotNotKeptError(runId)
  const fetched = listOfRun({ runId, contentHash, bytes })
  return {
    run,
    heldWith: await listReviewRuns(deps.db, run.reviewId ?? runId),
    rejected: await findRejection(deps.db, run.reviewId ?? runId),
    plan: await reportPlan(deps, { list, fetched, arrivedAt: run.arrivedAt, confirmations: 1 }),
  }
}

export interface ToReport {
  readonly list: RouteListName
  readonly fetched: FetchedList
  /** When it arrived; null: just now. */
  readonly arrivedAt: Date | null
  readonly confirmations: number
}

/** What applying a list would do now, in a transaction that leaves nothing. */
export function reportPlan(deps: ReviewDeps, asked: ToReport): Promise<PlanReport> {
  return withPlan(deps, asked, (tx, plan) => reportOf(tx, deps, asked, plan))
}

/** Plans a list in a transaction that leaves nothing. */
export async function withPlan<T>(
  { db, scrub, onProgress }: ReviewDeps,
  { list, fetched, arrivedAt, confirmations }: ToReport,
  work: (tx: Tx, plan: SnapshotPlan) => Promise<T>,
): Promise<T> {
  const chunks = await fetched.chunks(db)
  const read = { ...fetched, chunks: async () => chunks }
  return rolledBack(db, async (tx) => {
    await sql`set local statement_timeout = '15min'`.execute(tx)
    const previous = await findLastAccepted(tx, list)
    const onRoutes = (routes: number) => onProgress?.({ bytes: fetched.bytes, routes })
    const plan = await (list === 'routes' ? planRoutes : planAvailability)(tx, {
      source: { slices: readSlices(tx, { list, fetched: read }, onRoutes) },
      baseline: previous === null,
      repeated: previous?.contentHash === fetched.contentHash,
      confirmations,
      arrivedAt,
      stopwatch: createStopwatch(),
      scrub,
    })
    return work(tx, plan)
  })
}

/** Reads the report off a plan's transaction. */
export async function reportOf(
  tx: Tx,
  { guard }: ReviewDeps,
  { list, fetched }: ToReport,
  plan: SnapshotPlan,
): Promise<PlanReport> {
  return {
    list,
    bytes: fetched.bytes,
    verdict: suspicionOf(plan.effect, guard),
    ...countsOf(plan),
    examples: await readExamples(tx, list),
  }
}

function countsOf(plan: SnapshotPlan) {
  const { baseline, live: liveBefore, missing, newlyAbsent } = plan.effect
  return {
    baseline,
    liveBefore,
    missing,
    newlyAbsent,
    forecast: plan.forecast,
    ...stagedCounts(plan),
  }
}
