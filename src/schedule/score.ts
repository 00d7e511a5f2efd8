import { kindOf } from '../platform/base/change-kinds.ts'
import type { FareChangeKind, RatedState } from '../platform/base/kinds.ts'

/**
 * What a check of a fare is worth: s = √(w·v̄·λ), with w the priorities of the reseller's watches, v̄ the running value of
 * the fare's events and λ its expected changes a day.
 *
 * With even spacing a change waits half an interval τ. Minimising Σ w·v̄·λ·τ/2 under Σ 1/τ = B gives 1/τ in proportion to
 * s (Sia, Cho and Cho, "Efficient monitoring algorithm for fast news alerts", 2007).
 */

/** The value of the changes that one check found; 0 without a change. */
export function eventValue(kinds: readonly FareChangeKind[]): number {
  return Math.max(0, ...kinds.map((kind) => kindOf(kind).value ?? 0))
}

/** The value of a change from each state, before a fare has shown any. */
const FIRST_VALUES: Readonly<Record<RatedState, number>> = { available: 1.1, unavailable: 5 }
/** The part of a new event in the running value of a fare's events. */
const VALUE_STEP = 0.05
/** The weight of what all fares show, in changes, against what the fare itself has shown. */
const PRIOR_CHANGES = 2
/** An observation counts e times less after so long. */
export const MEMORY_SECONDS = 30 * 86_400
const DAY_SECONDS = 86_400
/** A change is followed by others: λ is raised by K after it, e times less after so long. */
const SOON_SECONDS = 4 * 3_600
/** The mean of e^(−t / 4 h) over those four hours. */
const MEAN_OF_SOON = 0.63
const MOST_FOLLOWING = 6
const FIRST_EVIDENCE = 5

/** How often a fare changes in one state: decayed over 30 days. */
export interface RateEstimate {
  /** Changes, each as the number that an interval with at least one is expected to hold. */
  readonly changes: number
  /** Days of observation. */
  readonly exposure: number
}

/** What the schedule remembers of a fare. Times are in seconds since 1970. */
export interface FareMemory {
  /** When its last change was detected; null before the first. */
  readonly changedAt: number | null
  /** The state that its last counted check showed; null before that check. */
  readonly state: RatedState | null
  /** When its last counted check began. */
  readonly countedAt: number | null
  readonly rates: Readonly<Record<RatedState, RateEstimate>>
  /** The running value of its events from each state (v̄). */
  readonly values: Readonly<Record<RatedState, number>>
}

const NO_EXPOSURE: RateEstimate = { changes: 0, exposure: 0 }

export const NEW_FARE: FareMemory = {
  changedAt: null,
  state: null,
  countedAt: null,
  rates: { available: NO_EXPOSURE, unavailable: NO_EXPOSURE },
  values: FIRST_VALUES,
}

/** What all fares show together: running sums, decayed over 30 days. */
export interface AllFares {
  readonly rates: Readonly<Record<RatedState, RateEstimate>>
  /** The changes within four hours of a change, and those that would be expected without it. */
  readonly soon: { readonly found: number; readonly expected: number }
}

export const NOTHING_KNOWN: AllFares = {
  rates: { available: NO_EXPOSURE, unavailable: NO_EXPOSURE },
  soon: { found: 0, expected: 0 },
}

/** The changes a day of all fares in one state (μ); one before the first fares are known. */
function meanRate({ rates }: AllFares, state: RatedState): number {
  return rateOf(rates[state], 1)
}

/** The mean of the gamma distribution of rates after what was observed. */
function rateOf({ changes, exposure }: RateEstimate, prior: number): number {
  return (PRIOR_CHANGES + changes) / (PRIOR_CHANGES / prior + exposure)
}

/** By how much more fares change soon after a change (K). */
export function followingOf({ soon: { found, expected } }: AllFares): number {
  const ratio = (FIRST_EVIDENCE + found) / (FIRST_EVIDENCE + expected)
  return Math.min(MOST_FOLLOWING, Math.max(0, (ratio - 1) / MEAN_OF_SOON))
}

/** The factor of the time since the last change of a fare. */
export function afterChange(all: AllFares, { changedAt }: FareMemory, at: number): number {
  if (changedAt === null) return 1
  return 1 + followingOf(all) * Math.exp(-Math.max(0, at - changedAt) / SOON_SECONDS)
}

/** The expected changes a day of a fare at an instant (λ). */
export function changesPerDay(all: AllFares, memory: FareMemory, at: number): number {
  const state = memory.state ?? 'available'
  return rateOf(memory.rates[state], meanRate(all, state)) * afterChange(all, memory, at)
}

/** One counted check: it showed the state of every leg, or confirmed a change. */
interface RatedCheck {
  readonly at: number
  readonly state: RatedState
  readonly changed: boolean
  /** The value of the changes that it found. */
  readonly value: number
}

/**
 * What a check teaches of the fare, and of all fares. The exposure belongs to the state at the start of the interval. The
 * first check of a fare shows its state only.
 */
export function learn(
  all: AllFares,
  memory: FareMemory,
  { at, state: shown, changed, value }: RatedCheck,
): { readonly memory: FareMemory; readonly lesson: AllFares } {
  const next = {
    ...memory,
    state: shown,
    countedAt: at,
    changedAt: changed ? at : memory.changedAt,
  }
  const { state, countedAt, changedAt } = memory
  if (state === null || countedAt === null || at <= countedAt) {
    return { memory: next, lesson: NOTHING_KNOWN }
  }
  const days = (at - countedAt) / DAY_SECONDS
  const rate = rateOf(memory.rates[state], meanRate(all, state))
  const seen = { changes: changed ? expectedChanges(rate * days) : 0, exposure: days }
  const kept = Math.exp(-(at - countedAt) / MEMORY_SECONDS)
  const before = memory.rates[state]
  const rates = {
    ...memory.rates,
    [state]: {
      changes: before.changes * kept + seen.changes,
      exposure: before.exposure * kept + seen.exposure,
    },
  }
  const values = changed
    ? { ...memory.values, [state]: withEvent(memory.values[state], value) }
    : memory.values
  // Of the interval only what lies within four hours of the last change shows what follows it.
  const soonDays =
    changedAt === null
      ? 0
      : Math.max(0, Math.min(at, changedAt + SOON_SECONDS) - countedAt) / DAY_SECONDS
  const isSoon = soonDays > 0 && at <= (changedAt ?? 0) + SOON_SECONDS
  const lesson = {
    rates: { ...NOTHING_KNOWN.rates, [state]: seen },
    soon: { found: changed && isSoon ? 1 : 0, expected: -Math.expm1(-rate * soonDays) },
  }
  return { memory: { ...next, rates, values }, lesson }
}

/** The expected number of changes in an interval that holds at least one: x / (1 − e^−x). A plain count shows 0.63 of the rate. */
export function expectedChanges(x: number): number {
  return x < 1e-9 ? 1 : x / -Math.expm1(-x)
}

/** The running value of a fare's events after one more event. */
function withEvent(value: number, event: number): number {
  return value + VALUE_STEP * (event - value)
}

/** The sum of lessons. */
export function sumLessons(lessons: readonly AllFares[]): AllFares {
  const plus = (a: RateEstimate, b: RateEstimate) => ({
    changes: a.changes + b.changes,
    exposure: a.exposure + b.exposure,
  })
  return lessons.reduce(
    (sum, { rates, soon }) => ({
      rates: {
        available: plus(sum.rates.available, rates.available),
        unavailable: plus(sum.rates.unavailable, rates.unavailable),
      },
      soon: { found: sum.soon.found + soon.found, expected: sum.soon.expected + soon.expected },
    }),
    NOTHING_KNOWN,
  )
}
