import type { RatedState } from '../../platform/base/kinds.ts'
import { bucketOf, createFactorTable, type FactorTable, factorOf } from './factor-table.ts'

const HOUR = 3_600
const DAY = 86_400

/** Hours since the last change of the fare. Long after it the factor is 1. */
const EDGES = [1, 2, 4, 8, 16, 48].map((hours) => hours * HOUR)

/** For each state the factors by the time since the last change: most changes are followed by others. */
export type RecencyTables = Readonly<Record<RatedState, FactorTable>>

export function createRecencyTables(): RecencyTables {
  const table = () => createFactorTable(EDGES, EDGES.length)
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
    const ends = (changedAt ?? 0) + (EDGES[bucket] ?? Number.POSITIVE_INFINITY)
    // An edge that rounding puts at the present instant would never be passed.
    const next = Math.min(to, Math.max(at + 1, ends))
    segments.push({ days: (next - at) / DAY, bucket })
    at = next
  }
  return segments
}

/** A value on an edge belongs to the bucket below it, so that of a later instant begins just after the edge. */
function recencyBucket(changedAt: number | null, at: number): number {
  return changedAt === null ? EDGES.length : bucketOf({ edges: EDGES }, at - changedAt + 1e-3)
}

/** The factor of a fare at an instant. */
export function recencyAt(
  tables: RecencyTables,
  state: RatedState,
  { changedAt, at }: { readonly changedAt: number | null; readonly at: number },
): number {
  return factorOf(tables[state], recencyBucket(changedAt, at))
}
