import { sql, type Tx } from '../../db/database.ts'
import { selectOne } from '../../db/transaction.ts'
import type { RouteListName } from '../../upstream/route-list.ts'
import type { SyncDeps } from '../apply-or-hold.ts'
import { countConfirmed } from '../plan/absences.ts'
import type { Forecast } from '../plan/plan-snapshot.ts'
import { findLastAccepted } from '../runs/run-records.ts'
import { createStopwatch } from '../runs/stopwatch.ts'
import type { SyncReason } from '../runs/sync-run.ts'
import { fetchList, NoRoutesYetError } from '../sync-list.ts'
import { judgeSnapshot } from './judge-snapshot.ts'
import { type PlanReport, reportOf, reportPlan, withPlan } from './report-plan.ts'

/** What a sync would do with a list; its verdict is null where others that agree would release it. */
export interface DryRun extends PlanReport {
  /** Why a suspicious list would be applied all the same, with the runs that agree with it; else null. */
  readonly release: SyncReason | null
}

/**
 * Fetches a list and says what a sync would do with it now. It costs one request of the budget and changes nothing:
 * no run, no state, no kept list. Of a list that would be held the forecast is that of its approval. Throws what a sync
 * would be rejected or fail by.
 */
export async function dryRun(
  deps: SyncDeps,
  list: RouteListName,
  signal: AbortSignal,
): Promise<DryRun> {
  if (list === 'with-availability' && (await findLastAccepted(deps.db, 'routes')) === null) {
    throw new NoRoutesYetError()
  }
  const { fetched } = await fetchList(deps, { list, stopwatch: createStopwatch() }, signal)
  const { confirmations } = deps
  const asked = { list, fetched, arrivedAt: null, confirmations }
  const planned = await withPlan(deps, asked, async (tx, plan) => {
    const report = await reportOf(tx, deps, asked, plan)
    if (report.verdict === null) return { ...report, release: null }
    const judged = { list, fetched, plan, runId: null, fetchedAt: await databaseTime(tx) }
    const release = (await judgeSnapshot(tx, deps, judged))?.release ?? null
    if (release === null) return null
    const weight = { list, lists: release.lists, confirmations }
    const forecast = confirmedForecast(list, report.forecast, await countConfirmed(tx, weight))
    return { ...report, forecast, verdict: null, release: release.reason }
  })
  if (planned !== null) return planned
  // What would be held is shown as its review would show it: approving confirms at once.
  return { ...(await reportPlan(deps, { ...asked, confirmations: 1 })), release: null }
}

async function databaseTime(tx: Tx): Promise<Date> {
  const { now } = await selectOne(sql<{ now: Date }>`select clock_timestamp() as now`, tx)
  return now
}

/** The forecast where another number of absences is confirmed. */
function confirmedForecast(list: RouteListName, forecast: Forecast, confirmed: number): Forecast {
  const more = confirmed - forecast.removed - forecast.lost
  return {
    ...forecast,
    live: forecast.live - more,
    pendingAbsences: forecast.pendingAbsences - more,
    ...(list === 'routes' ? { removed: confirmed } : { lost: confirmed }),
  }
}
