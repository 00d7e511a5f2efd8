import type { Scrub } from '../base/secrets.ts'
import { type Db, sql, type Tx } from '../db/database.ts'
import { takeTransactionLock } from '../db/session-lock.ts'
import { readRouteList } from '../upstream/read-route-list.ts'
import type { Route, RouteListBody, RouteListName } from '../upstream/route-list.ts'
import type { UpstreamClient } from '../upstream/upstream-client.ts'
import { countPending } from './absences.ts'
import { type GuardLimits, suspicionOf } from './guard.ts'
import { planAvailability, planRoutes, type SnapshotPlan } from './plan-snapshot.ts'
import {
  type AcceptedRun,
  closeRun,
  dropHeldRuns,
  findLastAccepted,
  settleFetchedAt,
} from './run-records.ts'
import type { Stopwatch } from './stopwatch.ts'
import type { SyncCounts, SyncOutcome, SyncReason } from './sync-run.ts'
import { routesChangedSince } from './sync-run-queries.ts'

export interface SyncDeps {
  readonly db: Db
  readonly upstream: Pick<UpstreamClient, 'fetchRouteList'>
  /** Accepted snapshots in a row that must lack a route before it is removed. */
  readonly confirmations: number
  readonly guard: GuardLimits
  /** Masks our secrets in what the upstream sends. */
  readonly scrub: Scrub
  readonly onProgress?: (progress: SyncProgress) => void
}

/** How far a run is: bytes fetched, then routes staged. */
export interface SyncProgress {
  readonly bytes: number
  readonly routes: number
}

/** The run that a snapshot belongs to. */
export interface SyncRun {
  readonly runId: number
  readonly list: RouteListName
  readonly stopwatch: Stopwatch
}

/** One transaction may rewrite a million routes; the pool's limit is for queries. */
const APPLY_TIMEOUT = '15min'

/** Stages a fetched list, judges it, and applies or holds it whole, in the caller's transaction. */
export async function settleSnapshot(
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
    scrub: deps.scrub,
  }
  // The same with-availability list says something else once the routes are others.
  const sameRoutes =
    run.list === 'routes' ||
    (previous !== null && !(await routesChangedSince(tx, previous.fetchedAt)))
  const source =
    previous !== null && repeated && sameRoutes
      ? { repeated: previous }
      : { slices: reportingSlices(run.list, body, deps.onProgress) }
  const plan = run.list === 'routes' ? planRoutes : planAvailability
  return plan(tx, { ...args, source })
}

async function* reportingSlices(
  list: RouteListName,
  body: RouteListBody,
  onProgress: SyncDeps['onProgress'],
): AsyncGenerator<{ readonly routes: readonly Route[] }> {
  let routes = 0
  for await (const slice of readRouteList(body, { endpoint: list })) {
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

function stagedCounts({ staged }: SnapshotPlan): Partial<SyncCounts> {
  const { fetched, duplicates, conflictingPlaces } = staged
  return { fetched, duplicates, conflictingPlaces }
}

function hasEffect(counts: Partial<SyncCounts>): boolean {
  const { added, removed, placesChanged, gained, lost } = counts
  return [added, removed, placesChanged, gained, lost].some((count) => (count ?? 0) > 0)
}
