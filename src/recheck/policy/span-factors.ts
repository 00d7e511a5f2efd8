import type { RatedState } from '../../base/kinds.ts'
import { bucketOf, createFactorTable, type FactorTable, factorOf } from './factor-table.ts'

const HOUR = 3_600
const DAY = 86_400

/** Days to departure. Far from departure the factor is 1. */
const HAZARD_EDGES = [1, 2, 4, 7, 11, 16, 30].map((days) => days * DAY)
/** Hours since the last change of the fare. Long after it the factor is 1. */
const RECENCY_EDGES = [1, 2, 4, 8, 16, 48].map((hours) => hours * HOUR)

/** The factors that follow from time alone: for each state a table by time to departure, and one by time since the last change. */
export interface SpanFactors {
  readonly hazard: Readonly<Record<RatedState, FactorTable>>
  readonly recency: Readonly<Record<RatedState, FactorTable>>
}

export function createSpanFactors(): SpanFactors {
  const hazard = () => createFactorTable(HAZARD_EDGES, HAZARD_EDGES.length)
  const recency = () => createFactorTable(RECENCY_EDGES, RECENCY_EDGES.length)
  return {
    hazard: { available: hazard(), unavailable: hazard() },
    recency: { available: recency(), unavailable: recency() },
  }
}

/** What the factors of a fare depend on. Times are in seconds since 1970. */
export interface FareTimes {
  /** Null where it is unknown: then the factor of the hazard is 1. */
  readonly departsAt: number | null
  /** When its last change was detected; null before the first. */
  readonly changedAt: number | null
}

/** A part of an interval in which no factor changes. */
export interface Segment {
  readonly days: number
  readonly hazardBucket: number
  readonly recencyBucket: number
}

/** Splits an interval where one of the factors changes. Nothing follows the departure. */
export function segmentsOf(
  { departsAt, changedAt }: FareTimes,
  { from, to }: { readonly from: number; readonly to: number },
): Segment[] {
  const end = Math.min(to, departsAt ?? to)
  const segments: Segment[] = []
  for (let at = from; at < end; ) {
    const hazardBucket = hazardBucketAt(departsAt, at)
    const recencyBucket = recencyBucketAt(changedAt, at)
    const edge = HAZARD_EDGES[hazardBucket - 1]
    const hazardEnds = departsAt === null || edge === undefined ? end : departsAt - edge
    const recencyEnds = (changedAt ?? 0) + (RECENCY_EDGES[recencyBucket] ?? Infinity)
    // An edge that rounding puts at the present instant would never be passed.
    const next = Math.min(end, Math.max(at + 1, Math.min(hazardEnds, recencyEnds)))
    segments.push({ days: (next - at) / DAY, hazardBucket, recencyBucket })
    at = next
  }
  return segments
}

/** The segment at an instant, without a length. */
export function segmentAt({ departsAt, changedAt }: FareTimes, at: number): Segment {
  return {
    days: 0,
    hazardBucket: hazardBucketAt(departsAt, at),
    recencyBucket: recencyBucketAt(changedAt, at),
  }
}

function hazardBucketAt(departsAt: number | null, at: number): number {
  return departsAt === null
    ? HAZARD_EDGES.length
    : bucketOf({ edges: HAZARD_EDGES }, departsAt - at)
}

/** A value on an edge belongs to the bucket below it, so that of a later instant begins just after the edge. */
function recencyBucketAt(changedAt: number | null, at: number): number {
  return changedAt === null
    ? RECENCY_EDGES.length
    : bucketOf({ edges: RECENCY_EDGES }, at - changedAt + 1e-3)
}

/** Which factors count. One that is switched off is 1. */
export interface Switches {
  readonly hazard: boolean
  readonly recency: boolean
  readonly surprise: boolean
}

export const ALL_FACTORS: Switches = { hazard: true, recency: true, surprise: true }

export function hazardOf({ hazard }: SpanFactors, state: RatedState, { hazardBucket }: Segment) {
  return factorOf(hazard[state], hazardBucket)
}

export function recencyOf({ recency }: SpanFactors, state: RatedState, { recencyBucket }: Segment) {
  return factorOf(recency[state], recencyBucket)
}
