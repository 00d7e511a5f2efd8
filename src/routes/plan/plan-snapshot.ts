import { appendDraftedRouteChanges, draftRouteChanges } from '../../feeds/append-records.ts'
import type { RouteListName } from '../../platform/base/kinds.ts'
import { sql, type Tx } from '../../platform/db/database.ts'
import { takeTransactionLock } from '../../platform/db/session-lock.ts'
import type { Stopwatch } from '../runs/run-records.ts'
import type { SyncCounts } from '../runs/sync-run.ts'
import { type AcceptedRun, routesChangedSince } from '../runs/sync-run-queries.ts'
import { type FetchDeps, type FetchedList, readSlices } from '../snapshots/fetched-list.ts'
import {
  type ApplyArgs,
  advanceAbsences,
  countPending,
  deleteConfirmed,
  deleteReturned,
  readLossHistory,
} from './absences.ts'
import type { GuardLimits, SnapshotDiff, SnapshotEffect } from './guard.ts'
import { applyAvailability, diffAvailability, draftsOfAvailability } from './plan-availability.ts'
import { advancePlaces, countPendingPlaces } from './plan-places.ts'
import { applyRoutes, diffRoutes, draftsOfRoutes } from './plan-routes.ts'
import { type StagedSnapshot, stageSnapshot } from './stage-snapshot.ts'

export interface SyncDeps extends FetchDeps {
  /** Accepted lists in a row that must lack a route before it is removed. */
  readonly confirmations: number
  readonly guard: GuardLimits
}

/** What a list would change, and the function that applies it. */
export interface SnapshotPlan {
  readonly staged: StagedSnapshot
  /** Whether `staged_route` holds the list: the last accepted list is not staged again. */
  readonly isStaged: boolean
  readonly effect: SnapshotEffect
  readonly forecast: Forecast
  apply(args: ApplyArgs): Promise<Partial<SyncCounts>>
}

/** What a run would count if it applied the list. */
export type Forecast = Pick<SyncCounts, 'unknownPairs'> &
  Readonly<
    Record<
      'live' | 'added' | 'removed' | 'pendingAbsences' | 'placesChanged' | 'gained' | 'lost',
      number
    >
  >

export interface PlanArgs extends Pick<ApplyArgs, 'confirmations'> {
  readonly list: RouteListName
  readonly fetched: FetchedList
  /** The last accepted run of the list; null for a baseline. */
  readonly previous: AcceptedRun | null
  /** When the list arrived. Null if it has just arrived. */
  readonly arrivedAt: Date | null
  readonly stopwatch: Stopwatch
  /** Stages the list even if it is the last accepted one again. */
  readonly alwaysStage?: boolean
}

const LISTS = {
  routes: {
    diff: diffRoutes,
    draftsOf: draftsOfRoutes,
    apply: applyRoutes,
    tables: sql`route_version, place_version`,
  },
  'with-availability': {
    diff: diffAvailability,
    draftsOf: draftsOfAvailability,
    apply: applyAvailability,
    tables: sql`route_availability_version`,
  },
} as const

/** One transaction may rewrite a million routes; the pool's limit is meant for queries. */
const APPLY_TIMEOUT = '15min'
/**
 * The hash of a million routes takes 49 MB, and Postgres lets a hash use twice this setting. With the default the
 * comparison sorts on disk and takes 1.2 s instead of 0.7. The lock lets one transaction at a time use so much.
 */
const APPLY_WORK_MEM = '64MB'

/** The other list is applied within seconds, a million routes within a minute. */
const STATE_WAIT_MS = 120_000

/** Prepares the caller's transaction to apply a list. Both lists read and write the same state, so one waits. */
export async function beginApply(tx: Tx): Promise<void> {
  await sql`set local statement_timeout = ${sql.lit(APPLY_TIMEOUT)}`.execute(tx)
  await sql`set local work_mem = ${sql.lit(APPLY_WORK_MEM)}`.execute(tx)
  await takeTransactionLock(tx, 'route-state', STATE_WAIT_MS)
}

/** Stages a list and compares it with what holds now, in temporary tables of the caller's transaction. */
export async function planSnapshot(
  tx: Tx,
  { scrub, onProgress }: Pick<FetchDeps, 'scrub' | 'onProgress'>,
  args: PlanArgs,
): Promise<SnapshotPlan> {
  const { list, fetched, previous, stopwatch } = args
  const unchanged =
    args.alwaysStage !== true && previous !== null && (await isUnchanged(tx, { ...args, previous }))
  const onRoutes = (count: number) => onProgress?.({ bytes: fetched.bytes, routes: count })
  const {
    fetched: routes,
    duplicates,
    conflictingPlaces,
  } = unchanged
    ? previous
    : await stopwatch.time('stage', () =>
        stageSnapshot(tx, scrub, readSlices(tx, { list, fetched }, onRoutes)),
      )
  const isStaged = !unchanged
  const diff = await stopwatch.time('diff', () => LISTS[list].diff(tx, { ...args, isStaged }))
  return {
    staged: { fetched: routes, duplicates, conflictingPlaces },
    isStaged,
    effect: {
      ...diff,
      removed: diff.removed + diff.lost,
      history: await readLossHistory(tx, list),
      baseline: previous === null,
      repeated: previous?.contentHash === fetched.contentHash,
      // A list of unknown pairs alone says as little as an empty one.
      listed: routes - duplicates - (diff.unknownPairs ?? 0),
    },
    forecast: forecastOf(diff),
    apply: (applyArgs) => applyDiff(tx, { list, diff }, applyArgs),
  }
}

/** Whether the list has the last accepted bytes and means the same: availability also depends on the routes. */
async function isUnchanged(
  tx: Tx,
  { list, fetched, previous }: PlanArgs & { readonly previous: AcceptedRun },
): Promise<boolean> {
  if (previous.contentHash !== fetched.contentHash) return false
  return list === 'routes' || !(await routesChangedSince(tx, previous.arrivedAt))
}

function forecastOf(diff: SnapshotDiff): Forecast {
  const { unknownPairs, live, added, removed, missing, placesChanged, gained, lost } = diff
  return {
    unknownPairs,
    live: live + added + gained - removed - lost,
    added,
    removed,
    pendingAbsences: missing - removed - lost,
    placesChanged,
    gained,
    lost,
  }
}

/** Writes absences, history and changes, in the caller's transaction. */
async function applyDiff(
  tx: Tx,
  { list, diff }: { readonly list: RouteListName; readonly diff: SnapshotDiff },
  args: ApplyArgs,
): Promise<Partial<SyncCounts>> {
  const { draftsOf, apply, tables } = LISTS[list]
  const returned = await deleteReturned(tx, list)
  await advanceAbsences(tx, { ...args, list })
  if (list === 'routes') await advancePlaces(tx, args)
  const isBaseline = args.previousAt === null
  if (!isBaseline) await draftRouteChanges(tx, draftsOf(args))
  const counts = await apply(tx, args)
  await deleteConfirmed(tx, { ...args, list })
  const pendingAbsences = await countPending(tx, list)
  // Until it is analyzed, Postgres plans queries as if a table that a baseline filled were empty.
  if (isBaseline) await sql`analyze ${tables}`.execute(tx)
  else await appendDraftedRouteChanges(tx, args.runId)
  const { added, gained, removed, lost } = counts
  return {
    ...counts,
    live: diff.live + added + gained - removed - lost,
    unknownPairs: diff.unknownPairs,
    returned,
    pendingAbsences,
    pendingPlaces: list === 'routes' ? await countPendingPlaces(tx) : 0,
  }
}
