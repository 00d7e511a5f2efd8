import type { Clock } from '../base/clock.ts'
import { AppError } from '../base/errors.ts'
import type { Logger } from '../base/logger.ts'
import type { Metrics } from '../metrics/metrics.ts'
import { SnoozeError } from '../queue/snooze.ts'
import { ROUTE_LISTS, type RouteListName } from '../upstream/route-list.ts'
import { waitMsOf } from '../upstream/upstream-errors.ts'
import type { SyncDeps } from './apply-or-hold.ts'
import type { SyncOutcome } from './runs/sync-run.ts'
import { reportSyncFinished } from './sync-events.ts'
import { syncList } from './sync-list.ts'

export const SYNC_QUEUE = 'route-sync'

export interface SyncListPayload {
  readonly list: RouteListName
  /** When the slot of the schedule was due, ISO 8601. */
  readonly dueAt: string
}

export interface SyncJobDeps extends SyncDeps {
  readonly metrics: Metrics
  readonly log: Logger
  readonly clock: Clock
  /** Whether a later slot of the same schedule has a job of its own. */
  readonly hasLaterDueTime: (slot: Slot) => Promise<boolean>
}

interface Slot {
  readonly list: RouteListName
  readonly dueAt: Date
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

/** Another process is at the list; whether its run will be ours too shows when it is over. */
export class ListBusyError extends AppError {
  override readonly name = 'ListBusyError'
  override readonly code = 'sync.busy'
  override readonly retryable = true

  constructor(list: RouteListName) {
    super(`another process is at the list ${list}`)
  }
}

/**
 * Pulls one route list for one slot of the schedule.
 *
 * Safe to run twice: a list has one run at a time across all processes, and a slot is done once a run has got a
 * list since it was due, so that a job carried out again after its commit counts no absence twice, and slots that
 * queued up behind an outage are done by one list. What may succeed a little later is tried again: a list that
 * another process is at, which may yet fail, a timeout, a 503. A list that was held, or is none, will be no better
 * then, and the schedule comes round. Where the upstream is to be left alone, by its own word or a breaker's, nothing
 * was tried: the job is put off until then, without an attempt.
 */
export async function syncListJob(
  deps: SyncJobDeps,
  { list, dueAt }: SyncListPayload,
  signal: AbortSignal,
): Promise<void> {
  const slot = { list: assertList(list), dueAt: new Date(dueAt) }
  const result = await syncList(deps, slot, signal)
  if (result === 'busy') throw new ListBusyError(slot.list)
  if (result === 'done') {
    deps.log.info({ list, dueAt }, 'route sync done already')
    return
  }
  reportSyncFinished(deps, result)
  if (result.reason?.wait !== undefined) return putOff(deps, slot, result)
  if (result.status === 'failed' || result.reason?.retryable === true) {
    throw new SyncFailedError(result)
  }
}

/** The later slot's job is put off as long, and one list does for both: two would only ask twice. */
async function putOff(
  { clock, log, hasLaterDueTime }: SyncJobDeps,
  slot: Slot,
  outcome: SyncOutcome,
): Promise<void> {
  const { list, dueAt } = slot
  if (await hasLaterDueTime(slot)) {
    log.info({ list, dueAt }, 'route sync left to a later slot')
    return
  }
  const waitMs = outcome.reason?.wait === undefined ? 0 : waitMsOf(outcome.reason.wait, clock.now())
  throw new SnoozeError(waitMs, new SyncFailedError(outcome))
}

function assertList(list: string): RouteListName {
  const known = ROUTE_LISTS.find((name) => name === list)
  if (known === undefined) throw new Error(`a sync job names the unknown list ${list}`)
  return known
}
