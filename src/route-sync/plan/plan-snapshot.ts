import type { Scrub } from '../../base/secrets.ts'
import type { Tx } from '../../db/database.ts'
import type { Route } from '../../upstream/route-list.ts'
import type { Stopwatch } from '../runs/stopwatch.ts'
import type { SyncCounts } from '../runs/sync-run.ts'
import { applyAvailability } from './apply-availability.ts'
import { type ApplyArgs, applyRoutes } from './apply-routes.ts'
import {
  type AvailabilityDiff,
  diffAvailability,
  diffRepeatedAvailability,
} from './diff-availability.ts'
import { diffRepeatedRoutes, diffRoutes } from './diff-routes.ts'
import type { SnapshotEffect } from './guard.ts'
import { type StagedSnapshot, stageSnapshot } from './stage-snapshot.ts'

/** What a snapshot would do, for the guard to judge, and how to do it. */
export interface SnapshotPlan {
  readonly staged: StagedSnapshot
  /** Whether `staged_route` holds the list; the last accepted one again is not staged. */
  readonly isStaged: boolean
  readonly effect: SnapshotEffect
  readonly forecast: Forecast
  apply(args: ApplyArgs): Promise<Partial<SyncCounts>>
}

/** What applying would do, in the words of a run's counts. */
export interface Forecast
  extends Pick<SyncCounts, 'unknownPairs'>,
    Record<
      'live' | 'added' | 'removed' | 'pendingAbsences' | 'placesChanged' | 'gained' | 'lost',
      number
    > {}

export type SnapshotSource =
  | { readonly slices: AsyncIterable<{ readonly routes: readonly Route[] }> }
  | { readonly repeated: StagedSnapshot }

export interface PlanArgs {
  /** The list to stage; or, where it is the last accepted one again, what that one held. */
  readonly source: SnapshotSource
  readonly baseline: boolean
  /** Whether its bytes are those of the last accepted list. */
  readonly repeated: boolean
  readonly confirmations: number
  /** When the list arrived; null: just now. */
  readonly arrivedAt: Date | null
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
    isStaged: 'slices' in source,
    effect: {
      ...diff,
      baseline,
      repeated: args.repeated,
      listed: staged.fetched - staged.duplicates,
    },
    forecast: {
      unknownPairs: null,
      live: diff.live + diff.added - diff.removed,
      added: diff.added,
      removed: diff.removed,
      pendingAbsences: diff.missing - diff.removed,
      placesChanged: diff.placesChanged,
      gained: 0,
      lost: 0,
    },
    apply: (applyArgs) => applyRoutes(tx, diff, applyArgs),
  }
}

export async function planAvailability(tx: Tx, args: PlanArgs): Promise<SnapshotPlan> {
  const { source, confirmations } = args
  const staged = await stage(tx, args)
  const diff = await args.stopwatch.time('diff', () =>
    'slices' in source ? diffAvailability(tx, args) : diffRepeatedAvailability(tx, confirmations),
  )
  // A list that was not staged again was not searched for strangers again.
  const unknownPairs = 'slices' in source ? diff.unknownPairs : null
  return {
    staged,
    isStaged: 'slices' in source,
    effect: availabilityEffect(diff, args, staged),
    forecast: {
      unknownPairs,
      live: diff.available + diff.gained - diff.lost,
      added: 0,
      removed: 0,
      pendingAbsences: diff.missing - diff.lost,
      placesChanged: 0,
      gained: diff.gained,
      lost: diff.lost,
    },
    apply: async (applyArgs) => ({
      ...(await applyAvailability(tx, diff, applyArgs)),
      unknownPairs,
    }),
  }
}

function availabilityEffect(
  diff: AvailabilityDiff,
  { baseline, repeated }: PlanArgs,
  staged: StagedSnapshot,
): SnapshotEffect {
  return {
    baseline,
    repeated,
    // A list of nothing but strangers says as little as an empty one.
    listed: staged.fetched - staged.duplicates - diff.unknownPairs,
    live: diff.available,
    newlyAbsent: diff.newlyAbsent,
    missing: diff.missing,
    added: 0,
    broughtBack: 0,
    removed: 0,
    removedLastDay: 0,
    knownPlaces: 0,
    placesChanged: 0,
  }
}

async function stage(tx: Tx, { source, stopwatch, scrub }: PlanArgs): Promise<StagedSnapshot> {
  if ('repeated' in source) return source.repeated
  return stopwatch.time('stage', () => stageSnapshot(tx, scrub, source.slices))
}
