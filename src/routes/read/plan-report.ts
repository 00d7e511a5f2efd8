import type { RouteListName } from '../../platform/base/kinds.ts'
import { sql, type Tx } from '../../platform/db/database.ts'
import { databaseNow, openScratchTransaction } from '../../platform/db/transaction.ts'
import { countConfirmed } from '../absences.ts'
import {
  type Forecast,
  type PlanArgs,
  planSnapshot,
  type SnapshotPlan,
  type SyncDeps,
} from '../diff.ts'
import { suspicionOf } from '../guard.ts'
import { findHeldRun, judgeSnapshot } from '../held.ts'
import { fetchList, listOfRun } from '../list.ts'
import { countConfirmedPlaces } from '../places.ts'
import { createStopwatch, findLastAccepted, type SyncReason } from '../runs.ts'
import { readExamples } from './plan-examples.ts'

export type ReviewDeps = Pick<SyncDeps, 'db' | 'scrub' | 'guard' | 'onProgress'>

/** What an operator needs to know to decide about a held run. */
export type Review = Awaited<ReturnType<typeof reviewRun>>

/** What a list of this age lacks, the network has lost in the meantime. */
const OLD_MS = 7 * 86_400_000

/** Reports why a run is held and what approving it would do now. Throws the errors of `approveRun`. */
export async function reviewRun(deps: ReviewDeps, runId: number) {
  const run = await findHeldRun(deps.db, runId)
  const { list, arrivedAt, reason } = run
  const { arrivedAt: lastAcceptedAt = null } = (await findLastAccepted(deps.db, list)) ?? {}
  const apartMs = (arrivedAt?.getTime() ?? 0) - (lastAcceptedAt?.getTime() ?? Infinity)
  return {
    run,
    lastAcceptedAt,
    isLikelyReal: apartMs > OLD_MS && reason?.code !== 'empty',
    plan: await reportPlan(deps, { list, fetched: listOfRun(run), arrivedAt, confirmations: 1 }),
  }
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
  /** Why a suspicious list would be applied nevertheless; else null. */
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
    const judged = { list, fetched, plan, fetchedAt: await databaseNow(tx) }
    const { isHeld, reason, lists } = await judgeSnapshot(tx, deps, judged)
    if (isHeld) return null
    const together = { lists, confirmations }
    const confirmed = await countConfirmed(tx, { list, ...together })
    const forecast = {
      ...confirmedForecast(list, report.forecast, confirmed),
      ...(list === 'routes' && { placesChanged: await countConfirmedPlaces(tx, together) }),
    }
    return { ...report, forecast, verdict: null, release: reason }
  })
  if (applied !== null) return applied
  // A list that would be held is reported with what approving it would do: that confirms absences at once.
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
