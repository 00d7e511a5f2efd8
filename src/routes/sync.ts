import type { RouteChangeKind } from '../platform/base/change-kinds.ts'
import type { Clock } from '../platform/base/clock.ts'
import { AppError, messageOf } from '../platform/base/errors.ts'
import { type JobQueue, ROUTE_LISTS, type RouteListName } from '../platform/base/kinds.ts'
import type { Logger } from '../platform/base/logger.ts'
import { cleanText } from '../platform/base/text.ts'
import { type Attributes, span } from '../platform/base/tracing.ts'
import { type Db, sql, type Tx } from '../platform/db/database.ts'
import { notify } from '../platform/db/listener.ts'
import { withSessionLock } from '../platform/db/session-lock.ts'
import { databaseNow, inTransaction } from '../platform/db/transaction.ts'
import type { Metrics } from '../platform/metrics/metrics.ts'
import { SnoozeError } from '../platform/queue/job-processor.ts'
import { bringNeighbours, changeQueues } from '../schedule/queues.ts'
import { waitMsOf, waitOf } from '../upstream/upstream-errors.ts'
import { beginApply, countPending, planSnapshot, type SnapshotPlan, type SyncDeps } from './diff.ts'
import { ListFailedTwiceError, ListNotDueError, SyncFailedError } from './errors.ts'
import { endHeldList, type Judgement, judgeSnapshot, recordHeldList } from './held.ts'
import { type FetchedList, fetchList } from './list.ts'
import {
  type Arrival,
  assignValidTime,
  closeRun,
  createStopwatch,
  findFailedWith,
  findFinishedRun,
  findLastAccepted,
  findOpenRun,
  LIST_WAIT_MS,
  listBusyError,
  listLock,
  openRun,
  readAttempts,
  recordArrival,
  type Stopwatch,
  type SyncCounts,
  type SyncOutcome,
  type SyncReason,
} from './runs.ts'
import { keepSnapshot } from './snapshots.ts'

interface SyncRequest {
  readonly list: RouteListName
  /** When the sync was due. Any run that started since then has done its work. */
  readonly dueAt?: Date | undefined
}

/** `busy`: another process holds the list's lock. `done`: a run since `dueAt` has done the work. */
export type SyncResult =
  | { readonly kind: 'ran'; readonly outcome: SyncOutcome }
  | { readonly kind: 'busy' }
  | { readonly kind: 'done' }

/**
 * Fetches one list and applies it, holds it or rejects it, as a whole.
 *
 * The network call happens before the transaction opens, which stages the list, compares it, judges it, applies it and
 * closes the run. Safe to run twice: the second run gets the same bytes. A process that dies leaves nothing but an
 * unfinished run, which the next run closes.
 */
export async function syncList(
  deps: SyncDeps,
  { list, dueAt }: SyncRequest,
  signal: AbortSignal,
): Promise<SyncResult> {
  const result = await withSessionLock(deps.db, listLock(list), async (session) => {
    // A list that no schedule asked for would confirm absences after one check instead of two.
    if (dueAt !== undefined && (await readAttempts(session, list, dueAt)).gotList) {
      return DONE
    }
    const runId = await openRun(session, list)
    const run = { runId, list, dueAt, stopwatch: createStopwatch() }
    const outcome = await runOnce({ ...deps, db: session }, run, signal)
    return { kind: 'ran', outcome } as const
  })
  return result ?? { kind: 'busy' }
}

const DONE = { kind: 'done' } as const

const POLL_MS = 250

/** Runs a sync, or waits for the run of another process and returns its outcome. Throws ListBusyError. */
export async function runOrAwait(
  deps: SyncDeps & { readonly clock: Clock },
  list: RouteListName,
  signal: AbortSignal,
): Promise<{ outcome: SyncOutcome; joined: boolean }> {
  const givesUpAt = deps.clock.now().getTime() + LIST_WAIT_MS
  let other: Awaited<ReturnType<typeof findOpenRun>>
  for (;;) {
    const finished = other === undefined ? undefined : await findFinishedRun(deps.db, other.runId)
    if (finished !== undefined) return { outcome: finished, joined: true }

    // The other run may have ended since it was queried, and released the lock.
    const own = await syncList(deps, { list, dueAt: other?.startedAt }, signal)
    if (own.kind === 'ran') return { outcome: own.outcome, joined: false }
    if (own.kind === 'done') continue
    if (deps.clock.now().getTime() >= givesUpAt) throw await listBusyError(deps.db, list)
    other ??= await findOpenRun(deps.db, list)
    await deps.clock.sleep(POLL_MS, signal)
  }
}

/** The run that a list belongs to. */
interface SyncRun extends SyncRequest {
  readonly runId: number
  readonly stopwatch: Stopwatch
}

/** How many runs for one due time may fail with one list. */
const MAX_ATTEMPTS = 2

async function runOnce(deps: SyncDeps, run: SyncRun, signal: AbortSignal): Promise<SyncOutcome> {
  try {
    const { arrival, fetched } = await fetchList(deps, run, signal)
    await recordArrival(deps.db, run.runId, arrival)
    await refuseThirdAttempt(deps.db, run, arrival)
    return await inTransaction(deps.db, (tx) => applyOrHold(tx, deps, run, fetched))
  } catch (err) {
    const end = { ...run, ...endOf(err, signal), durationsMs: run.stopwatch.durations() }
    // If this write fails too, the next run closes the run; the first error is the one to report.
    const outcome = await closeRun(deps.db, end).catch(() => undefined)
    if (outcome !== undefined && (err instanceof AppError || signal.aborted)) return outcome
    throw err
  }
}

/** A failure that the list itself causes, such as the end of the process, would happen at every attempt. */
async function refuseThirdAttempt(
  db: Db,
  { list, dueAt }: SyncRun,
  { contentHash }: Arrival,
): Promise<void> {
  if (dueAt === undefined) return
  const failed = await findFailedWith(db, { list, contentHash, since: dueAt })
  if (failed.length >= MAX_ATTEMPTS) throw new ListFailedTwiceError(failed)
}

/** Stages a list, judges it, and applies it or holds it whole, in the caller's transaction. */
async function applyOrHold(
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
  const judgement = await judgeSnapshot(tx, deps, { ...run, ...instants, fetched, plan })
  await keepSnapshot(tx, fetched.contentHash, () => fetched.packed())
  if (judgement.isHeld) return hold(tx, run, plan, judgement)

  const { reason, lists } = judgement
  const counts = await run.stopwatch.time('apply', () =>
    plan.apply({
      runId: run.runId,
      ...instants,
      previousAt: previous?.arrivedAt ?? null,
      confirmations,
      lists,
    }),
  )
  await endHeldList(tx, run, judgement)
  return closeRun(tx, {
    ...run,
    status: plan.effect.repeated && !hasEffect(counts) ? 'unchanged' : 'applied',
    baseline: previous === null,
    reason,
    confirmations,
    counts: { ...plan.staged, ...counts },
    durationsMs: run.stopwatch.durations(),
  })
}

async function hold(
  tx: Tx,
  run: SyncRun,
  { staged, effect, forecast }: SnapshotPlan,
  judgement: Judgement,
): Promise<SyncOutcome> {
  await recordHeldList(tx, run, judgement)
  const nothing = {
    added: 0,
    removed: 0,
    returned: 0,
    placesChanged: 0,
    gained: 0,
    lost: 0,
  }
  const outcome = await closeRun(tx, {
    ...run,
    status: 'held',
    reason: judgement.reason,
    held: { wouldAdd: forecast.added + forecast.gained, wouldRemove: effect.missing },
    counts: {
      ...staged,
      ...nothing,
      live: effect.live,
      ...(await countPending(tx, run.list)),
    },
    durationsMs: run.stopwatch.durations(),
  })
  return { ...outcome, agreeingLists: judgement.lists }
}

function hasEffect(counts: Partial<SyncCounts>): boolean {
  const { added, removed, placesChanged, gained, lost } = counts
  return [added, removed, placesChanged, gained, lost].some((count) => (count ?? 0) > 0)
}

/** Upstream errors without a usable answer. They fail the run; all other upstream errors reject the list. */
const NO_ANSWER = new Set(['upstream.timeout', 'upstream.network', 'upstream.circuit_open'])

function endOf(
  err: unknown,
  signal: AbortSignal,
): { status: 'failed' | 'rejected'; reason: SyncReason } {
  // A statement that was cancelled says nothing of who ended it.
  const text = cleanText(messageOf(signal.aborted ? signal.reason : err))
  if (signal.aborted) {
    return { status: 'failed', reason: { code: 'interrupted', text, retryable: true } }
  }
  if (!(err instanceof AppError)) return { status: 'failed', reason: { code: 'internal', text } }
  const answered =
    err instanceof ListFailedTwiceError ||
    (err.code.startsWith('upstream.') && !NO_ANSWER.has(err.code))
  const wait = waitOf(err)
  const { code, retryable } = err
  const reason = { code, text, retryable, ...(wait === undefined ? {} : { wait }) }
  return { status: answered ? 'rejected' : 'failed', reason }
}

export const SYNC_QUEUE = 'route-sync' satisfies JobQueue

export interface SyncListPayload {
  readonly list: RouteListName
  /** When it was due by the database's clock, ISO 8601, if the job is not that of a job scheduler. */
  readonly dueAt?: string
}

interface DueSyncJob {
  readonly payload: { readonly dueAt?: unknown }
  readonly dueAt: Date
}

/** When a sync was due: its job scheduler says so by the clock of a process, any other job in its payload. */
export function syncDueAt(job: DueSyncJob): Date {
  const { payload, dueAt } = job
  return typeof payload.dueAt === 'string' ? new Date(payload.dueAt) : dueAt
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
  const dueAt = syncDueAt({ payload, dueAt: context.dueAt })
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
  // The availability of the first routes is due.
  if (outcome.baseline) await sql`select ${notify('schedule')}`.execute(deps.db)
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

export function assertList(list: string): RouteListName {
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
