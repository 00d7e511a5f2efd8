import type { RouteListName } from '../../platform/base/kinds.ts'
import { databaseNow } from '../../platform/db/transaction.ts'
import { countConfirmed } from '../plan/absences.ts'
import { countConfirmedPlaces } from '../plan/plan-places.ts'
import type { Forecast, SyncDeps } from '../plan/plan-snapshot.ts'
import { createStopwatch } from '../runs/run-records.ts'
import type { SyncReason } from '../runs/sync-run.ts'
import { fetchList } from '../snapshots/fetched-list.ts'
import { judgeSnapshot } from './judge-snapshot.ts'
import { type PlanReport, readReport, reportPlan, withPlan } from './report-plan.ts'

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
