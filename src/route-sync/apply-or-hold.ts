import type { Scrub } from '../base/secrets.ts'
import { type Db, sql, type Tx } from '../db/database.ts'
import { takeTransactionLock } from '../db/session-lock.ts'
import type { RouteListName } from '../upstream/route-list.ts'
import type { UpstreamClient } from '../upstream/upstream-client.ts'
import { countPending } from './plan/absences.ts'
import type { GuardLimits } from './plan/guard.ts'
import { planAvailability, planRoutes, type SnapshotPlan } from './plan/plan-snapshot.ts'
import type { StagedSnapshot } from './plan/stage-snapshot.ts'
import { judgeSnapshot, type Verdict } from './review/judge-snapshot.ts'
import { dropHeldRuns } from './runs/resolve-runs.ts'
import {
  type AcceptedRun,
  assignValidTime,
  closeRun,
  findLastAccepted,
} from './runs/run-records.ts'
import type { Stopwatch } from './runs/stopwatch.ts'
import type { SyncCounts, SyncOutcome } from './runs/sync-run.ts'
import { routesChangedSince } from './runs/sync-run-queries.ts'
import { type FetchedList, readSlices } from './snapshots/fetched-list.ts'
import { saveSnapshot, touchSnapshot } from './snapshots/snapshots.ts'

export interface SyncDeps {
  readonly db: Db
  readonly upstream: Pick<UpstreamClient, 'fetchRouteListIfModified'>
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

/**
 * Stages a list, judges it, and applies or holds it whole, in the caller's transaction.
 *
 * What is kept of it was compressed beside the staging; here it is only written.
 */
export async function applyOrHold(
  tx: Tx,
  deps: SyncDeps,
  run: SyncRun,
  fetched: FetchedList,
): Promise<SyncOutcome> {
  await beginApply(tx)
  const instants = await assignValidTime(tx, run.runId)
  const previous = await findLastAccepted(tx, run.list)
  const plan = await planFetched(tx, deps, run, { fetched, previous, ...deps, ...instants })
  const verdict = await judgeSnapshot(tx, deps, { ...run, ...instants, fetched, plan })
  await keep(tx, fetched)
  const release = verdict?.release ?? null
  if (verdict !== null && release === null) return hold(tx, run, plan, verdict)

  const counts = await run.stopwatch.time('apply', () =>
    plan.apply({
      runId: run.runId,
      ...instants,
      previousAt: previous?.arrivedAt ?? null,
      confirmations: deps.confirmations,
      lists: release?.lists ?? 1,
    }),
  )
  const dropping = { list: run.list, resolvedBy: run.runId }
  if (release !== null) {
    const { reviewId } = release
    await dropHeldRuns(tx, { ...dropping, resolution: 'agreed', reviewId })
  }
  await dropHeldRuns(tx, { ...dropping, resolution: 'normal_list' })
  const repeated = previous?.contentHash === fetched.contentHash
  return closeRun(tx, {
    ...run,
    status: repeated && !hasEffect(counts) ? 'unchanged' : 'applied',
    baseline: previous === null,
    ...(release === null ? {} : { reason: release.reason, reviewId: release.reviewId }),
    counts: { ...stagedCounts(plan), ...counts },
    durationsMs: run.stopwatch.durations(),
  })
}

/**
 * A hash of a million routes takes 49 MB; Postgres gives a hash twice this. With what it has by itself the comparison is
 * a sort on disk, of 1.2 s instead of 0.7. One transaction at a time takes so much, for it holds the lock.
 */
const APPLY_WORK_MEM = '64MB'

/** One state of the routes at a time: both lists read and write it. */
export async function beginApply(tx: Tx): Promise<void> {
  await sql`set local statement_timeout = ${sql.lit(APPLY_TIMEOUT)}`.execute(tx)
  await sql`set local work_mem = ${sql.lit(APPLY_WORK_MEM)}`.execute(tx)
  await takeTransactionLock(tx, 'route-state')
}

export interface ToPlan {
  readonly fetched: FetchedList
  readonly previous: AcceptedRun | null
  readonly confirmations: number
  readonly arrivedAt: Date
}

/** Compares a list with what holds now; the last accepted one again needs no reading, but for what is pending. */
export async function planFetched(
  tx: Tx,
  deps: Pick<SyncDeps, 'scrub' | 'onProgress'>,
  run: Pick<SyncRun, 'list' | 'stopwatch'>,
  { fetched, previous, confirmations, arrivedAt }: ToPlan,
): Promise<SnapshotPlan> {
  const args = {
    baseline: previous === null,
    repeated: previous?.contentHash === fetched.contentHash,
    confirmations,
    arrivedAt,
    stopwatch: run.stopwatch,
    scrub: deps.scrub,
  }
  const onRoutes = (routes: number) => deps.onProgress?.({ bytes: fetched.bytes, routes })
  const source =
    previous !== null && (await isUnchanged(tx, run.list, { fetched, previous }))
      ? { repeated: previous }
      : { slices: readSlices(tx, { list: run.list, fetched }, onRoutes) }
  const plan = run.list === 'routes' ? planRoutes : planAvailability
  return plan(tx, { ...args, source })
}

/** The same with-availability list says something else once the routes are others. */
async function isUnchanged(
  tx: Tx,
  list: RouteListName,
  { fetched, previous }: { fetched: FetchedList; previous: AcceptedRun },
): Promise<boolean> {
  if (previous.contentHash !== fetched.contentHash) return false
  return list === 'routes' || !(await routesChangedSince(tx, previous.arrivedAt))
}

/** Keeps the list that is applied or held; one that came before is there already. */
async function keep(tx: Tx, fetched: FetchedList): Promise<void> {
  if (await touchSnapshot(tx, fetched.contentHash)) return
  const packed = await fetched.packed()
  if (packed !== null) await saveSnapshot(tx, fetched.contentHash, packed)
}

async function hold(
  tx: Tx,
  run: SyncRun,
  plan: SnapshotPlan,
  { suspicion, reviewId }: Verdict,
): Promise<SyncOutcome> {
  const nothing = { added: 0, removed: 0, returned: 0, placesChanged: 0, gained: 0, lost: 0 }
  return closeRun(tx, {
    ...run,
    status: 'held',
    reason: suspicion,
    reviewId: reviewId ?? run.runId,
    counts: {
      ...stagedCounts(plan),
      ...nothing,
      live: plan.effect.live,
      pendingAbsences: await countPending(tx, run.list),
    },
    durationsMs: run.stopwatch.durations(),
  })
}

/** What a plan read of its list. */
export function stagedCounts({ staged }: SnapshotPlan): StagedSnapshot {
  const { fetched, duplicates, conflictingPlaces } = staged
  return { fetched, duplicates, conflictingPlaces }
}

function hasEffect(counts: Partial<SyncCounts>): boolean {
  const { added, removed, placesChanged, gained, lost } = counts
  return [added, removed, placesChanged, gained, lost].some((count) => (count ?? 0) > 0)
}
