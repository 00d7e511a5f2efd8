/**
 * A factor of the rate of change, learned for each bucket of one quantity. Each bucket sums the changes that were expected
 * without this factor, and the changes that were observed.
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
