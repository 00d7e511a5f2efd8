import { AppError, messageOf } from '../base/errors.ts'
import { cleanText } from '../base/text.ts'
import { type Db, sql, type Tx } from '../db/database.ts'
import { takeTransactionLock, withSessionLock } from '../db/session-lock.ts'
import { inTransaction } from '../db/transaction.ts'
import { readRouteList } from '../upstream/read-route-list.ts'
import type { Route, RouteListName } from '../upstream/route-list.ts'
import type { RouteListBody, UpstreamClient } from '../upstream/upstream-client.ts'
import { countPending } from './absences.ts'
import { type GuardLimits, suspicionOf } from './guard.ts'
import { planAvailability, planRoutes, type SnapshotPlan } from './plan-snapshot.ts'
import {
  type AcceptedRun,
  closeRun,
  dropHeldRuns,
  findLastAccepted,
  noteFetched,
  openRun,
  settleFetchedAt,
} from './run-records.ts'
import { createStopwatch, type Stopwatch } from './stopwatch.ts'
import type { SyncCounts, SyncOutcome, SyncReason } from './sync-run.ts'
import { routesChangedSince } from './sync-run-queries.ts'

export interface SyncDeps {
  readonly db: Db
  readonly upstream: Pick<UpstreamClient, 'fetchRouteList'>
  /** Accepted snapshots in a row that must lack a route before it is removed. */
  readonly confirmations: number
  readonly guard: GuardLimits
  readonly onProgress?: (progress: SyncProgress) => void
}

/** How far a run is: bytes fetched, then routes staged. */
export interface SyncProgress {
  readonly bytes: number
  readonly routes: number
}

interface SyncRun {
  readonly runId: number
  readonly list: RouteListName
  readonly stopwatch: Stopwatch
}

/** One transaction may rewrite a million routes; the pool's limit is for queries. */
const APPLY_TIMEOUT = '15min'

/**
 * Pulls one list and applies it, holds it or rejects it, as a whole. Returns undefined where another process is
 * at the same list.
 *
 * fetch, then in one transaction: stage, diff, guard, apply, append, record the run. The network call happens
 * before the transaction opens. Safe to run twice: the second run meets the bytes of the first. A process that
 * dies leaves nothing behind but a run without an end, which the next one closes.
 */
export async function syncList(
  deps: SyncDeps,
  list: RouteListName,
  signal: AbortSignal,
): Promise<SyncOutcome | undefined> {
  return withSessionLock(deps.db, `route-sync:${list}`, async (session) => {
    const run = { runId: await openRun(session, list), list, stopwatch: createStopwatch() }
    try {
      return await pull({ ...deps, db: session }, run, signal)
    } catch (err) {
      const end = { ...run, ...endOf(err), durationsMs: run.stopwatch.durations() }
      // Where the record cannot be written either, the next run closes this one; the first error is the one to tell.
      const outcome = await closeRun(session, end).catch(() => undefined)
      if (outcome !== undefined && (err instanceof AppError || signal.aborted)) return outcome
      throw err
    }
  })
}

async function pull(deps: SyncDeps, run: SyncRun, signal: AbortSignal): Promise<SyncOutcome> {
  if (run.list === 'with-availability' && (await findLastAccepted(deps.db, 'routes')) === null) {
    throw new NoRoutesYetError()
  }
  const body = await run.stopwatch.time('fetch', () =>
    deps.upstream.fetchRouteList(run.list, {
      signal,
      onProgress: (bytes) => deps.onProgress?.({ bytes, routes: 0 }),
    }),
  )
  await noteFetched(deps.db, run.runId, body)
  return inTransaction(deps.db, (tx) => decide(tx, deps, run, body))
}

async function decide(
  tx: Tx,
  deps: SyncDeps,
  run: SyncRun,
  body: RouteListBody,
): Promise<SyncOutcome> {
  await sql`set local statement_timeout = ${sql.lit(APPLY_TIMEOUT)}`.execute(tx)
  await takeTransactionLock(tx, 'route-state')
  const fetchedAt = await settleFetchedAt(tx, run.runId)
  const previous = await findLastAccepted(tx, run.list)
  const repeated = previous?.contentHash === body.contentHash
  const plan = await planOf(tx, deps, run, { body, previous, repeated })

  const suspicion = suspicionOf(plan.effect, deps.guard)
  if (suspicion !== null) return hold(tx, run, plan, suspicion)

  const counts = await run.stopwatch.time('apply', () =>
    plan.apply({
      runId: run.runId,
      fetchedAt,
      previousAt: previous?.fetchedAt ?? null,
      confirmations: deps.confirmations,
    }),
  )
  await dropHeldRuns(tx, run.list)
  return closeRun(tx, {
    ...run,
    status: repeated && !hasEffect(counts) ? 'unchanged' : 'applied',
    baseline: previous === null,
    counts: { ...stagedCounts(plan), ...counts },
    durationsMs: run.stopwatch.durations(),
  })
}

interface Fetched {
  readonly body: RouteListBody
  readonly previous: AcceptedRun | null
  readonly repeated: boolean
}

async function planOf(
  tx: Tx,
  deps: SyncDeps,
  run: SyncRun,
  fetched: Fetched,
): Promise<SnapshotPlan> {
  const { body, previous, repeated } = fetched
  const args = {
    baseline: previous === null,
    confirmations: deps.confirmations,
    stopwatch: run.stopwatch,
  }
  const slices = () => reportingSlices(body, deps.onProgress)
  if (run.list === 'routes') return planRoutes(tx, { ...args, slices: repeated ? null : slices() })
  // The same with-availability list says something else once the routes are others.
  const sameRoutes = previous !== null && !(await routesChangedSince(tx, previous.fetchedAt))
  return planAvailability(tx, { ...args, slices: repeated && sameRoutes ? null : slices() })
}

async function* reportingSlices(
  body: RouteListBody,
  onProgress: SyncDeps['onProgress'],
): AsyncGenerator<{ readonly routes: readonly Route[] }> {
  let routes = 0
  for await (const slice of readRouteList(body)) {
    yield slice
    routes += slice.routes.length
    onProgress?.({ bytes: body.bytes, routes })
  }
}

async function hold(
  tx: Tx,
  run: SyncRun,
  plan: SnapshotPlan,
  reason: SyncReason,
): Promise<SyncOutcome> {
  const nothing = { added: 0, removed: 0, returned: 0, placesChanged: 0, gained: 0, lost: 0 }
  return closeRun(tx, {
    ...run,
    status: 'held',
    baseline: plan.effect.baseline,
    reason,
    counts: {
      ...stagedCounts(plan),
      ...nothing,
      live: plan.effect.live,
      pendingAbsences: await countPending(tx, run.list),
    },
    durationsMs: run.stopwatch.durations(),
  })
}

function stagedCounts({ staged, effect }: SnapshotPlan): Partial<SyncCounts> {
  if (staged === null) return { fetched: effect.listed, duplicates: 0, conflictingPlaces: 0 }
  const { fetched, duplicates, conflictingPlaces } = staged
  return { fetched, duplicates, conflictingPlaces }
}

function hasEffect(counts: Partial<SyncCounts>): boolean {
  const { added, removed, placesChanged, gained, lost } = counts
  return [added, removed, placesChanged, gained, lost].some((count) => (count ?? 0) > 0)
}

/** with-availability speaks of routes: without any it would only count strangers. */
export class NoRoutesYetError extends AppError {
  override readonly name = 'NoRoutesYetError'
  override readonly code = 'sync.no_routes_yet'
  override readonly retryable = false

  constructor() {
    super('there are no routes yet: sync the routes list first')
  }
}

/** No answer, or trouble of our own, is a failed run; an answer that is not a list is a rejected one. */
const NO_ANSWER = new Set(['upstream.timeout', 'upstream.network'])

function endOf(err: unknown): { status: 'failed' | 'rejected'; reason: SyncReason } {
  const text = cleanText(messageOf(err))
  if (!(err instanceof AppError)) return { status: 'failed', reason: { code: 'internal', text } }
  const status = NO_ANSWER.has(err.code) ? 'failed' : 'rejected'
  return { status, reason: { code: err.code, text } }
}
