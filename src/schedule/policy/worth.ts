import type { FareChangeKind, RatedState } from '../../platform/base/kinds.ts'

/**
 * How much an early detection of each change is worth. Early news of a fare that can be booked again is worth the most, because
 * other sellers take its seats.
 */
const EVENT_VALUES: Readonly<Partial<Record<FareChangeKind, number>>> = {
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
 * With even spacing a change waits half an interval τ. Minimising Σ w·v̄·λ·τ/2 under Σ 1/τ = B gives 1/τ in proportion to s
 * (Sia, Cho and Cho, "Efficient monitoring algorithm for fast news alerts", 2007). A rate that is no positive number counts
 * as the first rate: no score is NaN.
 * @param mostChanges λ counts up to here, so that fares which change more often than they can be followed do not use up the
 * budget (`Pace`).
 */
export function scoreOf({ weight, value, changesPerDay }: Worth, mostChanges: number): number {
  const rate = Number.isFinite(changesPerDay) && changesPerDay > 0 ? changesPerDay : FIRST_RATE
  return Math.max(LEAST_SCORE, Math.sqrt(weight * value * Math.min(rate, mostChanges)))
}

const LEAST_SCORE = 1e-6
