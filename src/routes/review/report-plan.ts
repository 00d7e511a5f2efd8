import type { RouteListName } from '../../platform/base/kinds.ts'
import { type Db, sql, type Tx } from '../../platform/db/database.ts'
import { databaseNow, openScratchTransaction } from '../../platform/db/transaction.ts'
import { countConfirmed } from '../plan/absences.ts'
import { suspicionOf } from '../plan/guard.ts'
import { countConfirmedPlaces } from '../plan/plan-places.ts'
import {
  type Forecast,
  type PlanArgs,
  planSnapshot,
  type SnapshotPlan,
  type SyncDeps,
} from '../plan/plan-snapshot.ts'
import { createStopwatch } from '../runs/run-records.ts'
import type { SyncReason } from '../runs/sync-run.ts'
import { findLastAccepted } from '../runs/sync-run-queries.ts'
import { fetchList, listOfRun } from '../snapshots/fetched-list.ts'
import { findHeldRun, findPaired } from './decide-run.ts'
import { judgeSnapshot } from './judge-snapshot.ts'
import { readExamples } from './plan-examples.ts'

export type ReviewDeps = Pick<SyncDeps, 'db' | 'scrub' | 'guard' | 'onProgress'>

/** What an operator needs to know to decide about a held run. */
export type Review = Awaited<ReturnType<typeof reviewRun>>

/** Reports why a run is held and what approving it would do now. Throws the errors of `approveRun`. */
export async function reviewRun(deps: ReviewDeps, runId: number) {
  const run = await findHeldRun(deps.db, runId)
  const { list, arrivedAt } = run
  const reviewId = run.reviewId ?? runId
  return {
    run,
    heldWith: await listHeldWith(deps.db, reviewId),
    rejected: await findRejection(deps.db, reviewId),
    pairedWith: (await findPaired(deps.db, runId))?.runId ?? null,
    plan: await reportPlan(deps, { list, fetched: listOfRun(run), arrivedAt, confirmations: 1 }),
  }
}

async function listHeldWith(db: Db, reviewId: number): Promise<number[]> {
  const runs = await db
    .selectFrom('sync_run')
    .select('id')
    .where('review_id', '=', reviewId)
    .where('status', '=', 'held')
    .orderBy('id')
    .execute()
  return runs.map(({ id }) => id)
}

/** The runs of a review that an operator rejected last, and when: such a review never ends by itself. Else null. */
async function findRejection(db: Db, reviewId: number) {
  const { rows } = await sql<{ runs: number[]; at: Date }>`
    select json_agg(id order by id) as runs, max(resolved_at) as at
      from sync_run
     where review_id = ${reviewId} and resolution = 'rejected'
    having count(*) > 0
  `.execute(db)
  return rows[0] ?? null
}

type ReportArgs = Pick<PlanArgs, 'list' | 'fetched' | 'arrivedAt' | 'confirmations'>

/** Reports what applying a list would do now; writes nothing. */
function reportPlan(deps: ReviewDeps, args: ReportArgs): Promise<PlanReport> {
  return withPlan(deps, args, (tx, plan) => readReport(tx, deps, args, plan))
}

/** Plans a list in a transaction that is rolled back. */
export async function withPlan<T>(
  deps: Pick<ReviewDeps, 'db' | 'scrub' | 'onProgress'>,
  args: ReportArgs,
  work: (tx: Tx, plan: SnapshotPlan) => Promise<T>,
): Promise<T> {
  await args.fetched.chunks(deps.db)
  const tx = await openScratchTransaction(deps.db)
  try {
    await sql`set local statement_timeout = '15min'`.execute(tx)
    const previous = await findLastAccepted(tx, args.list)
    const stopwatch = createStopwatch()
    const plan = await planSnapshot(tx, deps, { ...args, previous, stopwatch, alwaysStage: true })
    return await work(tx, plan)
  } finally {
    await tx.end()
  }
}

/** What applying a list would do now. */
export type PlanReport = Awaited<ReturnType<typeof readReport>>

/** Reads the report from the transaction of a plan. */
async function readReport(
  tx: Tx,
  { guard }: Pick<ReviewDeps, 'guard'>,
  { list, fetched }: ReportArgs,
  { effect, forecast, staged }: SnapshotPlan,
) {
  const { baseline, live: liveBefore, missing, newlyAbsent } = effect
  return {
    list,
    bytes: fetched.bytes,
    verdict: suspicionOf(effect, guard),
    baseline,
    liveBefore,
    missing,
    newlyAbsent,
    forecast,
    ...staged,
    examples: await readExamples(tx, list),
  }
}

/** What a sync would do with a list. The verdict is null if agreeing lists would release it. */
export interface DryRun extends PlanReport {
  /** Why a suspicious list would be applied nevertheless, with the runs that agree with it; else null. */
  readonly release: SyncReason | null
}

/**
 * Fetches a list and reports what a sync would do with it now. Takes one slot of the budget and changes nothing: no
 * run, no state, no kept list. The forecast of a list that would be held is that of its approval. Throws the errors
 * by which a sync would fail or be rejected.
 */
export async function dryRun(
  deps: SyncDeps,
  list: RouteListName,
  signal: AbortSignal,
): Promise<DryRun> {
  const { fetched } = await fetchList(deps, { list, stopwatch: createStopwatch() }, signal)
  const { confirmations } = deps
  const args = { list, fetched, arrivedAt: null, confirmations }
  const applied = await withPlan(deps, args, async (tx, plan) => {
    const report = await readReport(tx, deps, args, plan)
    if (report.verdict === null) return { ...report, release: null }
    const judged = { list, fetched, plan, runId: null, fetchedAt: await databaseNow(tx) }
    const release = (await judgeSnapshot(tx, deps, judged))?.release ?? null
    if (release === null) return null
    const together = { lists: release.lists, confirmations }
    const confirmed = await countConfirmed(tx, { list, ...together })
    const forecast = {
      ...confirmedForecast(list, report.forecast, confirmed),
      ...(list === 'routes' && { placesChanged: await countConfirmedPlaces(tx, together) }),
    }
    return { ...report, forecast, verdict: null, release: release.reason }
  })
  if (applied !== null) return applied
  // A list that would be held is reported as its review reports it: an approval confirms absences at once.
  return { ...(await reportPlan(deps, { ...args, confirmations: 1 })), release: null }
}

/** The forecast with another number of confirmed absences. */
function confirmedForecast(list: RouteListName, forecast: Forecast, confirmed: number): Forecast {
  const more = confirmed - forecast.removed - forecast.lost
  return {
    ...forecast,
    live: forecast.live - more,
    pendingAbsences: forecast.pendingAbsences - more,
    ...(list === 'routes' ? { removed: confirmed } : { lost: confirmed }),
  }
}
