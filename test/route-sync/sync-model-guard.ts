import type { GuardLimits } from '../../src/route-sync/plan/guard.ts'
import type { RouteListName } from '../../src/upstream/route-list.ts'

export interface ModelRun {
  readonly run: number
  readonly list: RouteListName
  readonly body: string
  readonly pairs: ReadonlySet<string>
  status: string
  /** Of a list that was suspicious: the first run of its review. */
  review?: number
  resolution?: string
}

/** What a list would do, in the numbers that the rules speak of. */
export interface ModelEffect {
  readonly baseline: boolean
  readonly repeated: boolean
  readonly listed: number
  readonly live: number
  readonly newlyAbsent: number
  readonly missing: number
  /** Not counting what was removed in the last 24 hours: all that ever was, in these tests. */
  readonly addedFresh: number
  readonly removed: number
  readonly removedLastDay: number
  readonly knownPlaces: number
  readonly placesChanged: number
}

/** Every rule that a list breaks. */
export function suspicionsOf(effect: ModelEffect, limits: GuardLimits): string[] {
  const { live, newlyAbsent, addedFresh, removed, removedLastDay, knownPlaces, placesChanged } =
    effect
  if (effect.listed === 0 && !effect.repeated) return ['empty']
  if (effect.baseline) return []
  const rules: Record<string, boolean> = {
    mass_absence: newlyAbsent >= limits.minimum && newlyAbsent > limits.absentShare * live,
    mass_addition: live >= limits.growthFrom && addedFresh > limits.growthShare * live,
    mass_place_change:
      placesChanged >= limits.minimum && placesChanged >= limits.placesChangedShare * knownPlaces,
    mass_removal:
      removed > 0 &&
      removed + removedLastDay >= limits.minimum &&
      removed + removedLastDay > limits.removedPerDayShare * (live + removedLastDay),
  }
  return Object.keys(rules).filter((code) => rules[code])
}

/** So many reviews, the newest first, are compared with a suspicious list. */
const COMPARED = 3

/**
 * The review that a suspicious list joins: that of the same bytes, or of the same routes; the lists of these tests
 * are so short that one more route is more than 1 %.
 */
export function findReview(
  runs: readonly ModelRun[],
  list: Pick<ModelRun, 'list' | 'body' | 'pairs'>,
): number | undefined {
  const open = runs.filter(
    (run) =>
      run.list === list.list &&
      run.review !== undefined &&
      (run.status === 'held' || ['rejected', 'normal_list'].includes(run.resolution ?? '')) &&
      run.pairs.size === list.pairs.size,
  )
  const reviews = [...new Set(open.map(({ review }) => review))]
    .sort((a = 0, b = 0) => b - a)
    .slice(0, COMPARED)
  const firsts = reviews.map((review) => {
    const ofReview = open.filter((run) => run.review === review)
    return ofReview.find(({ status }) => status === 'held') ?? ofReview[0]
  })
  const same = firsts.find((run) => run?.body === list.body)
  return (same ?? firsts.find((run) => run && isSame(run.pairs, list.pairs)))?.review
}

function isSame(a: ReadonlySet<string>, b: ReadonlySet<string>): boolean {
  return a.size === b.size && a.isSubsetOf(b)
}

/** Whether so many lists that agree release themselves; an empty one and a heavy loss never do. */
export function releases(
  reasons: readonly string[],
  { missing, live }: ModelEffect,
  { lists, limits }: { lists: number; limits: GuardLimits },
): boolean {
  if (reasons.includes('empty') || missing > limits.releaseLostShare * live) return false
  return lists >= limits.releaseLists
}
