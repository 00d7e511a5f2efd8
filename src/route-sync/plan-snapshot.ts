import type { Tx } from '../db/database.ts'
import type { Route } from '../upstream/route-list.ts'
import { applyAvailability } from './apply-availability.ts'
import { type ApplyArgs, applyRoutes } from './apply-routes.ts'
import { diffAvailability, diffRepeatedAvailability } from './diff-availability.ts'
import { diffRepeatedRoutes, diffRoutes } from './diff-routes.ts'
import type { SnapshotEffect } from './guard.ts'
import { type StagedSnapshot, stageSnapshot } from './stage-snapshot.ts'
import type { Stopwatch } from './stopwatch.ts'
import type { SyncCounts } from './sync-run.ts'

/** What a snapshot would do, for the guard to judge, and how to do it. */
export interface SnapshotPlan {
  readonly staged: StagedSnapshot | null
  readonly effect: SnapshotEffect
  apply(args: ApplyArgs): Promise<Partial<SyncCounts>>
}

export interface PlanArgs {
  /** Null where the bytes are those of the last accepted list: there is nothing to stage then. */
  readonly slices: AsyncIterable<{ readonly routes: readonly Route[] }> | null
  readonly baseline: boolean
  readonly confirmations: number
  readonly stopwatch: Stopwatch
}

export async function planRoutes(tx: Tx, args: PlanArgs): Promise<SnapshotPlan> {
  const { slices, baseline, confirmations, stopwatch } = args
  const staged = slices && (await stopwatch.time('stage', () => stageSnapshot(tx, slices)))
  const diff = await stopwatch.time('diff', () =>
    staged ? diffRoutes(tx, confirmations) : diffRepeatedRoutes(tx, confirmations),
  )
  const listed = staged?.listed ?? diff.live
  return {
    staged,
    effect: { ...diff, baseline, listed },
    apply: (applyArgs) => applyRoutes(tx, diff, applyArgs),
  }
}

export async function planAvailability(tx: Tx, args: PlanArgs): Promise<SnapshotPlan> {
  const { slices, baseline, confirmations, stopwatch } = args
  const staged = slices && (await stopwatch.time('stage', () => stageSnapshot(tx, slices)))
  const diff = await stopwatch.time('diff', () =>
    staged ? diffAvailability(tx, confirmations) : diffRepeatedAvailability(tx, confirmations),
  )
  return {
    staged,
    effect: {
      baseline,
      // A list of nothing but strangers says as little as an empty one.
      listed: staged ? staged.listed - diff.unknownPairs : diff.available,
      live: diff.available,
      newlyAbsent: diff.newlyAbsent,
      added: 0,
      removed: 0,
      removedLastDay: 0,
      knownPlaces: 0,
      placesChanged: 0,
    },
    apply: (applyArgs) => applyAvailability(tx, diff, applyArgs),
  }
}
