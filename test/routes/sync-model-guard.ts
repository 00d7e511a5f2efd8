import type { RouteListName } from '../../src/platform/base/kinds.ts'
import type { GuardLimits } from '../../src/routes/guard.ts'
import type { Place } from '../../src/upstream/route-list.ts'
import type { ModelChange } from './sync-model-history.ts'

export interface ModelRun {
  readonly run: number
  readonly list: RouteListName
  readonly body: string
  readonly pairs: ReadonlySet<string>
  readonly spellings: readonly Place[]
  status: string
  /** Whether agreeing lists released it. */
  readonly agreed?: boolean
}

/** The list of a kind that is held, or that was rejected. */
export interface ModelHeld {
  readonly first: ModelRun
  readonly lists: number
  rejected: boolean
}

/** What a list would change, in the numbers that the rules use. */
export interface ModelEffect {
  readonly baseline: boolean
  readonly repeated: boolean
  readonly listed: number
  readonly live: number
  readonly newlyAbsent: number
  readonly missing: number
  /** Without routes removed in the last 24 hours, which in these tests are all removed routes. */
  readonly addedFresh: number
  readonly removed: number
  /** Departures of at least five live routes that lack all. */
  readonly emptied: number
  /** Routes that unsuspicious lists removed and that are still removed. */
  readonly removedLastDay: number
  readonly knownPlaces: number
  readonly newlyEdited: number
}

/** Every rule that a list breaks. */
export function suspicionsOf(effect: ModelEffect, limits: GuardLimits): string[] {
  const { live, newlyAbsent, missing, addedFresh, removed, removedLastDay } = effect
  const { emptied, knownPlaces, newlyEdited } = effect
  // All lists of these tests arrive on one day, which is too short a history to learn from.
  const absent = newlyAbsent > 0 && missing + removedLastDay >= limits.minimum
  if (effect.listed === 0 && !effect.repeated) return ['empty']
  if (effect.baseline) return []
  const rules: Record<string, boolean> = {
    mass_absence: absent && missing + removedLastDay > limits.absentShare * (live + removedLastDay),
    departures_emptied: absent && emptied >= limits.emptiedDepartures,
    mass_addition: live >= limits.growthFrom && addedFresh > limits.growthShare * live,
    mass_place_change:
      newlyEdited >= limits.minimum && newlyEdited >= limits.placesChangedShare * knownPlaces,
    mass_removal:
      removed > 0 &&
      removed + removedLastDay >= limits.minimum &&
      removed + removedLastDay > limits.removedPerDayShare * (live + removedLastDay),
  }
  return Object.keys(rules).filter((code) => rules[code])
}

/** Whether a list agrees with the held one. The lists of these tests are so short that one route is more than 1 %. */
export function agreesWith(
  { first }: ModelHeld,
  { body, pairs }: Pick<ModelRun, 'body' | 'pairs'>,
): boolean {
  return first.body === body || isSame(first.pairs, pairs)
}

function isSame(a: ReadonlySet<string>, b: ReadonlySet<string>): boolean {
  return a.size === b.size && a.isSubsetOf(b)
}

/** Whether this many agreeing lists are released. Empty lists and heavy losses never are. */
export function releases(
  reasons: readonly string[],
  { missing, live }: ModelEffect,
  { lists, rejected, limits }: { lists: number; rejected: boolean; limits: GuardLimits },
): boolean {
  if (rejected || reasons.includes('empty')) return false
  return missing <= limits.releaseLostShare * live && lists >= limits.releaseLists
}

/** Routes that unsuspicious lists removed and that are still removed; in these tests all within the last day. */
export function stillRemoved(
  changes: readonly ModelChange[],
  runs: readonly ModelRun[],
  { list, live }: { readonly list: RouteListName; readonly live: readonly string[] },
): Set<string> {
  const kind = list === 'routes' ? 'route_removed' : 'route_lost_availability'
  const suspicious = new Set(
    runs.filter((r) => r.status === 'approved' || r.agreed).map(({ run }) => run),
  )
  const removed = changes.filter((change) => change.kind === kind && !suspicious.has(change.run))
  return new Set(removed.map(({ of }) => of)).difference(new Set(live))
}

/** Departures of at least five of these routes that the list lacks whole. */
export function emptiedDepartures(live: readonly string[], pairs: ReadonlySet<string>): number {
  const departures = Map.groupBy(live, (pair) => pair.split('-')[0])
  return [...departures.values()].filter(
    (routes) => routes.length >= 5 && !routes.some((pair) => pairs.has(pair)),
  ).length
}
