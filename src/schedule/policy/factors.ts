import type { RatedState } from '../../platform/base/kinds.ts'

/**
 * A factor of the rate of change, learned for each bucket of one quantity. Each bucket sums the changes that were
 * expected without this factor, and the changes that were observed.
 */
export interface FactorTable {
  /** The lower bounds of all buckets except the first, ascending. */
  readonly edges: readonly number[]
  /** The bucket whose factor is 1: the others are relative to it. */
  readonly reference: number
  readonly expected: number[]
  readonly observed: number[]
}

/** Changes that a bucket must have seen before its ratio counts more than the ratio of 1. */
const PRIOR_CHANGES = 5
const MIN_FACTOR = 0.2
export const MAX_FACTOR = 30

export function createFactorTable(edges: readonly number[], reference: number): FactorTable {
  const zeros = () => new Array<number>(edges.length + 1).fill(0)
  return { edges, reference, expected: zeros(), observed: zeros() }
}

/** The bucket of a value. A value on an edge belongs to the bucket below it. */
export function bucketOf({ edges }: Pick<FactorTable, 'edges'>, value: number): number {
  let bucket = 0
  while (bucket < edges.length && value > (edges[bucket] ?? 0)) bucket += 1
  return bucket
}

/**
 * The factor of a bucket: observed by expected changes, relative to the reference bucket, within [0.2, 30]. Without the
 * reference the level of a factor and the rates of the fares could drift in opposite directions.
 */
export function factorOf(table: FactorTable, bucket: number): number {
  const factor = ratioOf(table, bucket) / ratioOf(table, table.reference)
  return Math.min(MAX_FACTOR, Math.max(MIN_FACTOR, factor))
}

function ratioOf({ expected, observed }: FactorTable, bucket: number): number {
  return ((observed[bucket] ?? 0) + PRIOR_CHANGES) / ((expected[bucket] ?? 0) + PRIOR_CHANGES)
}

/** Adds what one interval showed of a bucket. */
export function learnFactor(
  table: FactorTable,
  bucket: number,
  { expected, observed }: { readonly expected: number; readonly observed: number },
): void {
  table.expected[bucket] = (table.expected[bucket] ?? 0) + expected
  table.observed[bucket] = (table.observed[bucket] ?? 0) + observed
}

const HOUR = 3_600
const DAY = 86_400

/** Hours since the last change of the fare. Long after it the factor is 1. */
const RECENCY_EDGES = [1, 2, 4, 8, 16, 48].map((hours) => hours * HOUR)

/** For each state the factors by the time since the last change: most changes are followed by others. */
export type RecencyTables = Readonly<Record<RatedState, FactorTable>>

export function createRecencyTables(): RecencyTables {
  const table = () => createFactorTable(RECENCY_EDGES, RECENCY_EDGES.length)
  return { available: table(), unavailable: table() }
}

/** A part of an interval in which the factor does not change. */
export interface Segment {
  readonly days: number
  readonly bucket: number
}

/**
 * Splits an interval where the factor changes. Times are in seconds since 1970.
 * @param changedAt when the last change of the fare was detected; null before the first.
 */
export function segmentsOf(
  changedAt: number | null,
  { from, to }: { readonly from: number; readonly to: number },
): Segment[] {
  const segments: Segment[] = []
  for (let at = from; at < to; ) {
    const bucket = recencyBucket(changedAt, at)
    const ends = (changedAt ?? 0) + (RECENCY_EDGES[bucket] ?? Number.POSITIVE_INFINITY)
    // An edge that rounding puts at the present instant would never be passed.
    const next = Math.min(to, Math.max(at + 1, ends))
    segments.push({ days: (next - at) / DAY, bucket })
    at = next
  }
  return segments
}

/** A value on an edge belongs to the bucket below it, so that of a later instant begins just after the edge. */
function recencyBucket(changedAt: number | null, at: number): number {
  return changedAt === null
    ? RECENCY_EDGES.length
    : bucketOf({ edges: RECENCY_EDGES }, at - changedAt + 1e-3)
}

/** The factor of a fare at an instant. */
export function recencyAt(
  tables: RecencyTables,
  state: RatedState,
  { changedAt, at }: { readonly changedAt: number | null; readonly at: number },
): number {
  return factorOf(tables[state], recencyBucket(changedAt, at))
}

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
const RATIO_EDGES = [0.75, 1.25, 1.75, 2.5, 3.5, 5, 8]
const RATIO_REFERENCE = 1
/** From this factor on the other fares of a route are pulled forward. */
export const PULL_FACTOR = 1.3
/** The part of the checks that fares, which were pulled forward, may use. */
export const PULL_SHARE = 0.2

export function createSurpriseTable(): FactorTable {
  return createFactorTable(RATIO_EDGES, RATIO_REFERENCE)
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
  return bucketOf({ edges: RATIO_EDGES }, (observed + 1) / (expected + 1))
}

export function surpriseOf(table: FactorTable, bucket: number): number {
  return factorOf(table, bucket)
}
