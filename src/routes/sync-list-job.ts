import type { Clock } from '../platform/base/clock.ts'
import { ROUTE_LISTS, type RouteChangeKind, type RouteListName } from '../platform/base/kinds.ts'
import type { Logger } from '../platform/base/logger.ts'
import { type Attributes, span } from '../platform/base/tracing.ts'
import { sql } from '../platform/db/database.ts'
import { databaseNow, inTransaction } from '../platform/db/transaction.ts'
import type { Metrics } from '../platform/metrics/metrics.ts'
import { SnoozeError } from '../platform/queue/job-processor.ts'
import { bringNeighbours, changeQueues } from '../schedule/queues.ts'
import { waitMsOf } from '../upstream/upstream-errors.ts'
import type { SyncDeps } from './diff.ts'
import { ListNotDueError, SyncFailedError } from './errors.ts'
import { listBusyError, type SyncCounts, type SyncOutcome } from './runs.ts'
import { type SyncResult, syncList } from './sync.ts'

export const SYNC_QUEUE = 'route-sync'

export interface SyncListPayload {
  readonly list: RouteListName
  /** When it was due by the database's clock, ISO 8601, if the job is not that of a job scheduler. */
  readonly dueAt?: string
}

export interface SyncJobDeps extends SyncDeps {
  readonly metrics: Metrics
  readonly log: Logger
  readonly clock: Clock
  /** When a list was due last. */
  readonly lastDueAt: (list: RouteListName, now: Date) => Date
}

/** A run takes a few seconds. */
const BUSY_WAIT_MS = 5_000

interface DueSync {
  readonly list: RouteListName
  readonly dueAt: Date
}

/**
 * Syncs one route list for one due time of its schedule.
 *
 * Safe to run twice: a list has one run at a time across all processes, and a due time is done once a run that started
 * since then has got a list. So a job that runs again after its commit counts no absence twice. A job whose list was due
 * again in the meantime leaves it to the job of that time: one list does the work of all that an outage delayed.
 *
 * Outcomes: a timeout or a 503 fails the job, and the queue tries again. A held or rejected list does not: the next due
 * time brings the next list. If the upstream asked us to wait or refused our credential, or its circuit breaker is
 * open, the job is snoozed until then, which is no attempt. So is a job whose list another process syncs: that run
 * may yet fail.
 */
export async function syncListJob(
  deps: SyncJobDeps,
  payload: SyncListPayload,
  context: { readonly dueAt: Date; readonly signal: AbortSignal },
): Promise<void> {
  const list = assertList(payload.list)
  const dueAt = payload.dueAt === undefined ? context.dueAt : new Date(payload.dueAt)
  const due = { list, dueAt }
  const now = await databaseNow(deps.db)
  // A run that began before its due time, by the clock of the database, would not count as its work.
  if (dueAt > now) throw new SnoozeError(dueAt.getTime() - now.getTime(), new ListNotDueError(list))
  if (dueAt < deps.lastDueAt(list, now)) {
    deps.log.info(due, 'route sync left to the job of a later due time')
    return
  }
  await span('sync', { 'farewatch.list': list }, async (annotate) => {
    const result = await syncList(deps, due, context.signal)
    annotate(
      result.kind === 'ran' ? attributesOf(result.outcome) : { 'farewatch.status': result.kind },
    )
    await handleResult(deps, due, result)
  })
}

function attributesOf({ runId, status, reason, added, removed }: SyncOutcome): Attributes {
  return {
    'farewatch.run_id': runId,
    'farewatch.status': status,
    'farewatch.reason': reason?.code,
    'farewatch.added': added,
    'farewatch.removed': removed,
  }
}

async function handleResult(deps: SyncJobDeps, due: DueSync, result: SyncResult): Promise<void> {
  if (result.kind === 'busy') {
    throw new SnoozeError(BUSY_WAIT_MS, await listBusyError(deps.db, due.list))
  }
  if (result.kind === 'done') {
    deps.log.info({ ...due }, 'route sync already done')
    return
  }
  const { outcome } = result
  reportSyncFinished(deps, outcome)
  await followAvailability(deps, outcome)
  if (outcome.reason?.wait !== undefined) {
    const waitMs = waitMsOf(outcome.reason.wait, deps.clock.now())
    throw new SnoozeError(waitMs, new SyncFailedError(outcome))
  }
  if (outcome.status === 'failed' || outcome.reason?.retryable === true) {
    throw new SyncFailedError(outcome)
  }
}

/**
 * Has the fares of routes checked whose availability the list has changed. In a transaction of its own: it only
 * makes checks earlier, so that a process which dies before it loses nothing.
 */
async function followAvailability(
  { db }: Pick<SyncJobDeps, 'db'>,
  { list, runId, gained, lost }: SyncOutcome,
): Promise<void> {
  if (list !== 'with-availability' || (gained ?? 0) + (lost ?? 0) === 0) return
  const { rows } = await sql<{ route: string }>`
    select distinct d.iata || '-' || a.iata as route
      from route_change c
      join place_version d on d.place_id = c.departure_id and d.valid_to is null
      join place_version a on a.place_id = c.destination_id and a.valid_to is null
     where c.sync_run_id = ${runId} and c.kind in ('route_gained_availability', 'route_lost_availability')
  `.execute(db)
  const routes = rows.map(({ route }) => route)
  await inTransaction(db, async (tx) => changeQueues(tx, await bringNeighbours(tx, routes)))
}

function assertList(list: string): RouteListName {
  const known = ROUTE_LISTS.find((name) => name === list)
  if (known === undefined) throw new Error(`a sync job names the unknown list ${list}`)
  return known
}

const ACCEPTED = new Set(['applied', 'unchanged'])

const CHANGES: Readonly<Record<RouteChangeKind, keyof SyncCounts>> = {
  route_added: 'added',
  route_removed: 'removed',
  route_gained_availability: 'gained',
  route_lost_availability: 'lost',
  place_changed: 'placesChanged',
}

/** Reports the outcome of a run to the metrics and the log. */
export function reportSyncFinished(
  { metrics, log }: { metrics: Metrics; log: Logger },
  outcome: SyncOutcome,
): void {
  const { list, status, durationsMs } = outcome
  metrics.syncRuns.inc({ list, status })
  for (const [stage, ms] of Object.entries(durationsMs)) {
    metrics.syncStageDuration.observe({ list, stage }, ms / 1000)
  }
  if (ACCEPTED.has(status)) countAccepted(metrics, outcome)
  if (isFirstHeld(outcome)) metrics.syncReviews.inc({ list })
  const expected = ACCEPTED.has(status) || (status === 'held' && !isFirstHeld(outcome))
  const counted = Object.entries(outcome).filter(([, value]) => value !== null)
  log[expected ? 'info' : 'warn'](Object.fromEntries(counted), 'route sync finished')
}

/** A list that agrees with the held one raises no new alert. */
function isFirstHeld({ status, agreeingLists }: SyncOutcome): boolean {
  return status === 'held' && agreeingLists === 1
}

function countAccepted(metrics: Metrics, outcome: SyncOutcome): void {
  const { list } = outcome
  metrics.syncReturned.inc({ list }, outcome.returned ?? 0)
  const faults = {
    duplicate: outcome.duplicates,
    conflicting_place: outcome.conflictingPlaces,
    unknown_pair: outcome.unknownPairs,
  }
  for (const [fault, count] of Object.entries(faults)) {
    metrics.syncListFaults.inc({ list, fault }, count ?? 0)
  }
  if (outcome.baseline) return
  for (const [kind, field] of Object.entries(CHANGES)) {
    metrics.routeChanges.inc({ kind }, outcome[field] ?? 0)
  }
}
