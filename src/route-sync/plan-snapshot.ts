import type { Scrub } from '../base/secrets.ts'
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
  readonly staged: StagedSnapshot
  readonly effect: SnapshotEffect
  apply(args: ApplyArgs): Promise<Partial<SyncCounts>>
}

export type SnapshotSource =
  | { readonly slices: AsyncIterable<{ readonly routes: readonly Route[] }> }
  | { readonly repeated: StagedSnapshot }

export interface PlanArgs {
  /** The list to stage; or, where it is the last accepted one again, what that one held. */
  readonly source: SnapshotSource
  readonly baseline: boolean
  readonly confirmations: number
  readonly stopwatch: Stopwatch
  readonly scrub: Scrub
}

export async function planRoutes(tx: Tx, args: PlanArgs): Promise<SnapshotPlan> {
  const { source, baseline, confirmations } = args
  const staged = await stage(tx, args)
  const diff = await args.stopwatch.time('diff', () =>
    'slices' in source ? diffRoutes(tx, confirmations) : diffRepeatedRoutes(tx, confirmations),
  )
  return {
    staged,
    effect: { ...diff, baseline, listed: staged.fetched - staged.duplicates },
    apply: (applyArgs) => applyRoutes(tx, diff, applyArgs),
  }
}

export async function planAvailability(tx: Tx, args: PlanArgs): Promise<SnapshotPlan> {
  const { source, baseline, confirmations } = args
  const staged = await stage(tx, args)
  const diff = await args.stopwatch.time('diff', () =>
    'slices' in source
      ? diffAvailability(tx, confirmations)
      : diffRepeatedAvailability(tx, confirmations),
  )
  return {
    staged,
    effect: {
      baseline,
      // A list of nothing but strangers says as little as an empty one.
      listed: staged.fetched - staged.duplicates - diff.unknownPairs,
      live: diff.available,
      newlyAbsent: diff.newlyAbsent,
      added: 0,
      removed: 0,
      removedLastDay: 0,
      knownPlaces: 0,
      placesChanged: 0,
    },
    apply: async (applyArgs) => ({
      ...(await applyAvailability(tx, diff, applyArgs)),
      // A list that was not staged again was not searched for strangers again.
      unknownPairs: 'slices' in source ? diff.unknownPairs : null,
    }),
  }
}

async function stage(tx: Tx, { source, stopwatch, scrub }: PlanArgs): Promise<StagedSnapshot> {
  if ('repeated' in source) return source.repeated
  return stopwatch.time('stage', () => stageSnapshot(tx, scrub, source.slices))
}
