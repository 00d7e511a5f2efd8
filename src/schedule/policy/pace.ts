import type { FareChangeKind, RatedState } from '../../platform/base/kinds.ts'

/**
 * How much an early detection of each change is worth. Early news of a fare that can be booked again is worth the
 * most, because other sellers take its seats. The first sight of a fare is no change.
 */
const EVENT_VALUES: Readonly<Partial<Record<FareChangeKind, number>>> = {
  first_seen: 0,
  became_available: 5,
  became_unavailable: 2,
}

/** The value of the changes that one check found; 0 without a change. */
export function eventValue(kinds: readonly FareChangeKind[]): number {
  return Math.max(0, ...kinds.map((kind) => EVENT_VALUES[kind] ?? 1))
}

/** The value of a change from each state, before a fare has shown any. */
export const FIRST_VALUES: Readonly<Record<RatedState, number>> = { available: 1.1, unavailable: 5 }
/** The rate of change of an unknown fare until the first fares are known, in changes a day. */
export const FIRST_RATE = 1
/** The part of a new event in the running value of a fare's events. */
const VALUE_STEP = 0.05

/** The running value of a fare's events after one more event. */
export function withEvent(value: number, eventValue: number): number {
  return value + VALUE_STEP * (eventValue - value)
}

export interface Worth {
  /** The reseller's active watches of the fare, each times its priority (w). */
  readonly weight: number
  /** The running value of the fare's events (v̄). */
  readonly value: number
  /** Expected changes a day at present (λ). */
  readonly changesPerDay: number
}

/**
 * The score of a fare for a reseller: s = √(w·v̄·λ). Its checks are in proportion to it.
 *
 * With even spacing a change waits half an interval τ. Minimising Σ w·v̄·λ·τ/2 under Σ 1/τ = B gives 1/τ in
 * proportion to s (Sia, Cho and Cho, "Efficient monitoring algorithm for fast news alerts", 2007). A rate that is
 * no positive number counts as the first rate: no score is NaN.
 * @param mostChanges λ counts up to here, so that fares which change more often than they can be followed do not use up the
 * budget (`Pace`).
 */
export function scoreOf({ weight, value, changesPerDay }: Worth, mostChanges: number): number {
  const rate = Number.isFinite(changesPerDay) && changesPerDay > 0 ? changesPerDay : FIRST_RATE
  return Math.max(LEAST_SCORE, Math.sqrt(weight * value * Math.min(rate, mostChanges)))
}

const LEAST_SCORE = 1e-6

/** How often a reseller may want a fare checked. */
export interface Limits {
  /** The longest interval that its watches ask for; null where they ask for none. */
  readonly longestSeconds: number | null
  /** The shortest interval that its watches allow. */
  readonly shortestSeconds: number
}

/** How a reseller spends its part of the budget. One pace holds for all its fares, and is solved once a minute. */
export interface Pace {
  /** The checks a second of a fare with the score 1 (c). */
  readonly perScore: number
  /** Lower scores count as this: a fifth of the mean, so that no interval is longer than about five times the mean. */
  readonly leastScore: number
  /** The changes a day that count at most: three during one check of every fare. */
  readonly mostChanges: number
  /** The part of what the longest intervals need that is kept: 1 unless its part of the budget has shrunk. */
  readonly kept: number
}

/** The part of a reseller's checks that its longest intervals may take: the least scores take a fifth. */
export const MOST_PROMISED = 0.7
/** They may take this part of what lanes leave of it: so lanes make other fares wait first. */
const MOST_OF_THE_REST = 0.9
const LEAST_OF_MEAN = 0.2
const MOST_CHANGES_A_ROUND = 3
const DAY_SECONDS = 86_400

/** The pace before the first solve: nothing is known of the reseller's fares. */
export const NO_PACE: Pace = { perScore: 0, leastScore: 0, mostChanges: Number.MAX_VALUE, kept: 1 }

/**
 * The checks a second that a reseller spends on a fare: x = clamp(c·s, 1 / longest interval, 1 / shortest
 * interval). The rate of a fare is the sum over its resellers.
 */
export function rateFor(
  { perScore, leastScore, kept }: Pace,
  { score, longestSeconds, shortestSeconds }: Limits & { readonly score: number },
): number {
  const most = 1 / Math.max(shortestSeconds, 1)
  const least = longestSeconds === null ? 0 : kept * Math.min(most, 1 / longestSeconds)
  return Math.min(most, Math.max(least, perScore * Math.max(score, leastScore)))
}

/** Fares of a reseller with the same limits and about the same score. */
export interface ScoreGroup extends Limits {
  readonly fares: number
  /** Their mean score. */
  readonly score: number
}

/**
 * The pace at which the fares of a reseller use its part of the budget, in checks a second. If all of them at their
 * shortest intervals need less, they are checked at these, and the rest is left to the others.
 * @param checksPerSecond what lanes leave of its part. @param part its whole part.
 * @example solvePace([{ fares: 10, score: 2, longestSeconds: null, shortestSeconds: 60 }], 0.1).perScore // 0.005
 */
export function solvePace(
  groups: readonly ScoreGroup[],
  checksPerSecond: number,
  part: number = checksPerSecond,
): Pace {
  const sum = (of: (group: ScoreGroup) => number) =>
    groups.reduce((total, group) => total + group.fares * of(group), 0)
  const fares = sum(() => 1)
  if (fares === 0) return NO_PACE
  const promised = sum(({ longestSeconds, shortestSeconds }) =>
    longestSeconds === null ? 0 : 1 / Math.max(longestSeconds, shortestSeconds, 1),
  )
  const most = Math.min(MOST_PROMISED * part, MOST_OF_THE_REST * checksPerSecond)
  const pace = {
    perScore: 0,
    leastScore: (LEAST_OF_MEAN * sum(({ score }) => score)) / fares,
    mostChanges: (MOST_CHANGES_A_ROUND * checksPerSecond * DAY_SECONDS) / fares,
    kept: promised > 0 ? Math.min(1, most / promised) : 1,
  }
  return { ...pace, perScore: perScoreAt(pace, groups, checksPerSecond) }
}

/** The pace of fares that are all checked at their shortest intervals: it does not follow their scores. */
const EVERY_SHORTEST = 1e6

/**
 * The checks a second of the score 1 at which the rates add up to the budget. The sum is linear in it between the
 * values at which a group reaches one of its limits, so the answer is exact.
 */
function perScoreAt(pace: Pace, groups: readonly ScoreGroup[], checksPerSecond: number): number {
  const limited = groups.map((group) => {
    const least = rateFor({ ...pace, perScore: 0 }, group)
    const score = Math.max(group.score, pace.leastScore)
    return { fares: group.fares, least, most: 1 / Math.max(group.shortestSeconds, 1), score }
  })
  const bends = limited
    .flatMap(({ fares, least, most, score }) => [
      { perScore: least / score, slope: fares * score },
      { perScore: most / score, slope: -fares * score },
    ])
    .sort((a, b) => a.perScore - b.perScore)
  let used = limited.reduce((sum, { fares, least }) => sum + fares * least, 0)
  let [perScore, slope] = [0, 0]
  for (const bend of bends) {
    const next = used + slope * (bend.perScore - perScore)
    if (next > checksPerSecond) return perScore + (checksPerSecond - used) / slope
    used = next
    perScore = bend.perScore
    slope += bend.slope
  }
  return EVERY_SHORTEST
}

/** What a reseller may spend: its share against the others, and what its checks in lanes use. */
interface Claimant {
  readonly share: number
  /** The checks a second that it used in lanes lately. */
  readonly inLanes: number
}

/** A reseller keeps at least this part of its part for its schedule, whatever it uses in lanes. */
const LEAST_LEFT = 0.1

/**
 * The checks a second that each reseller may spend on its schedule: its share of the budget, less what it uses in
 * lanes.
 */
export function divideBudget(claimants: readonly Claimant[], checksPerSecond: number): number[] {
  const shares = claimants.reduce((sum, { share }) => sum + share, 0)
  return claimants.map(({ share, inLanes }) => {
    const part = (share / shares) * checksPerSecond
    return Math.max(part - inLanes, LEAST_LEFT * part)
  })
}
