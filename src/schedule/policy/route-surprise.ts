import { bucketOf, createFactorTable, type FactorTable, factorOf } from './factor-table.ts'

/** The late changes of a route, decayed: those that its checks found (O), and those that were expected (E). */
export interface RouteChanges {
  readonly observed: number
  readonly expected: number
  /** When they were last updated, in seconds since 1970. */
  readonly at: number
}

export const NO_CHANGES: RouteChanges = { observed: 0, expected: 0, at: 0 }

/** How long changes of a route count: they count e times less after this time. */
export const SURPRISE_SECONDS = 1_800
/** For so long after its own change a fare counts as one that has moved with its route. */
export const MOVED_SECONDS = 2 * 3_600
/** The buckets of the likelihood ratio; that around 1 is the reference. */
const EDGES = [0.75, 1.25, 1.75, 2.5, 3.5, 5, 8]
const REFERENCE = 1
/** From this factor on the other fares of a route are pulled forward. */
export const PULL_FACTOR = 1.3
/** The part of the checks that fares, which were pulled forward, may use. */
export const PULL_SHARE = 0.2

export function createSurpriseTable(): FactorTable {
  return createFactorTable(EDGES, REFERENCE)
}

/** The changes after one more check of the route, of which `expected` was the probability to find a change. */
export function withRouteCheck(
  before: RouteChanges,
  {
    at,
    changed,
    expected,
  }: { readonly at: number; readonly changed: boolean; readonly expected: number },
): RouteChanges {
  const { observed, expected: e } = decayedTo(before, at)
  return { observed: observed + (changed ? 1 : 0), expected: e + expected, at }
}

function decayedTo({ observed, expected, at }: RouteChanges, now: number): RouteChanges {
  const kept = Math.exp(-Math.max(0, now - at) / SURPRISE_SECONDS)
  return { observed: observed * kept, expected: expected * kept, at: now }
}

/** The bucket of a route at an instant: by LR = (O + 1) / (E + 1). */
export function surpriseBucket(changes: RouteChanges, now: number): number {
  const { observed, expected } = decayedTo(changes, now)
  return bucketOf({ edges: EDGES }, (observed + 1) / (expected + 1))
}

export function surpriseOf(table: FactorTable, bucket: number): number {
  return factorOf(table, bucket)
}
