import { AppError } from '../base/errors.ts'
import type { Logger } from '../base/logger.ts'
import type { Metrics } from '../metrics.ts'
import { ROUTE_LISTS, type RouteListName } from '../upstream/route-list.ts'
import type { SyncDeps } from './settle-snapshot.ts'
import { reportSyncFinished } from './sync-events.ts'
import { syncList } from './sync-list.ts'
import type { SyncOutcome } from './sync-run.ts'

export const SYNC_QUEUE = 'route-sync'

export interface SyncListPayload {
  readonly list: RouteListName
  readonly slot: string
}

export interface SyncJobDeps extends SyncDeps {
  readonly metrics: Metrics
  readonly log: Logger
}

/** The run is recorded; the queue is to try again after its pause. */
export class SyncFailedError extends AppError {
  override readonly name = 'SyncFailedError'
  override readonly code = 'sync.failed'
  override readonly retryable = true

  constructor({ runId, list, reason }: SyncOutcome) {
    super(`run ${runId} of ${list} failed: ${reason?.text ?? 'no reason given'}`)
  }
}

/**
 * Pulls one route list.
 *
 * Safe to run twice: a list has one run at a time across all processes, the second finds it taken and leaves it
 * to the first; and a slot of the schedule has one run, so that a job carried out again after its commit counts
 * no absence twice. Only what may succeed a little later is tried again, a timeout or a 503: a list that was held,
 * or is none, will be no better then, and the schedule comes round.
 */
export async function syncListJob(
  deps: SyncJobDeps,
  { list, slot }: SyncListPayload,
  signal: AbortSignal,
): Promise<void> {
  const outcome = await syncList(deps, { list: assertList(list), slot }, signal)
  if (outcome === undefined) {
    deps.log.info({ list, slot }, 'route sync under way or done')
    return
  }
  reportSyncFinished(deps, outcome)
  if (outcome.status === 'failed' || outcome.reason?.retryable === true)
    throw new SyncFailedError(outcome)
}

function assertList(list: string): RouteListName {
  const known = ROUTE_LISTS.find((name) => name === list)
  if (known === undefined) throw new Error(`a sync job names the unknown list ${list}`)
  return known
}
