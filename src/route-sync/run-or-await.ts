import type { Clock } from '../base/clock.ts'
import type { RouteListName } from '../upstream/route-list.ts'
import type { SyncDeps } from './apply-or-hold.ts'
import type { SyncOutcome } from './runs/sync-run.ts'
import { findFinishedRun, findOpenRun } from './runs/sync-run-queries.ts'
import { syncList } from './sync-list.ts'

const POLL_MS = 250

/** Runs a sync, or waits for the one that is under way and returns its outcome. */
export async function runOrAwait(
  deps: SyncDeps & { readonly clock: Clock },
  list: RouteListName,
  signal: AbortSignal,
): Promise<{ outcome: SyncOutcome; joined: boolean }> {
  let running: Awaited<ReturnType<typeof findOpenRun>>
  for (;;) {
    const finished =
      running === undefined ? undefined : await findFinishedRun(deps.db, running.runId)
    if (finished !== undefined) return { outcome: finished, joined: true }

    // Since it was asked it may have ended, and given the list free.
    const own = await syncList(deps, { list, dueAt: running?.startedAt }, signal)
    if (typeof own !== 'string') return { outcome: own, joined: false }
    if (own === 'done') continue
    running ??= await findOpenRun(deps.db, list)
    await deps.clock.sleep(POLL_MS, signal)
  }
}
