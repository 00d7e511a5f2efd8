import type { FareChangeKind, RatedState } from '../../base/kinds.ts'
import { MOST_PROMISED } from '../../watch/most-promised.ts'

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

export const DAY_SECONDS = 86_400
/** The least ticket, as a part of the mean ticket (ε). */
export const FLOOR = 0.2
/** The largest rate that counts, in changes during one check of every fare. */
export const CAP = 3

/** The present sums of a queue. */
export interface ScheduleSums {
  /** The sum of all tickets (S). */
  readonly tickets: number
  /** The number of fares (N). */
  readonly fares: number
  /** The rate of checks (B). */
  readonly requestsPerSecond: number
  /** The checks a second that the longest intervals of its watches need; 0 if unset. */
  readonly promised?: number
}

export interface Worth {
  /** The watches of the fare, each times its priority (w). */
  readonly weight: number
  /** The running value of its events (v̄). */
  readonly value: number
  /** Expected changes a day at present (λ). */
  readonly changesPerDay: number
  /** The longest interval that its watches allow. */
  readonly maxDelaySeconds?: number | null
}

/**
 * The ticket whose expected interval is the longest one that the watches allow: S / (D·B). Where a queue has promised
 * more than it can keep, all its promises have the same part of what they need: otherwise the tickets would grow without
 * end.
 */
function promisedTicket(
  maxDelaySeconds: number,
  { tickets, requestsPerSecond, promised = 0 }: ScheduleSums,
): number {
  const kept = Math.min(1, (MOST_PROMISED * requestsPerSecond) / Math.max(promised, 1e-9))
  return (kept * tickets) / (maxDelaySeconds * requestsPerSecond)
}

/**
 * The ticket of a fare, its share of the budget: s = √(w·v̄·λ).
 *
 * With even spacing a change waits half an interval τ. Minimising Σ w·v̄·λ·τ/2 under Σ 1/τ = B gives τ = S / (s·B) (Sia,
 * Cho and Cho, "Efficient monitoring algorithm for fast news alerts", 2007).
 *
 * The floor of 0.2·S/N bounds every interval at five times the mean: a belief is stale after six (`freshSeconds`). The cap of λ at 3·B/N keeps fares, which change more
 * often than they can be followed, from using up the budget. A rate that is no positive number counts as the first rate:
 * no ticket is NaN.
 */
export function ticketOf(
  { weight, value, changesPerDay, maxDelaySeconds = null }: Worth,
  sums: ScheduleSums,
): number {
  const { tickets, fares, requestsPerSecond } = sums
  const rate = Number.isFinite(changesPerDay) && changesPerDay > 0 ? changesPerDay : FIRST_RATE
  const cap = fares > 0 ? (CAP * requestsPerSecond * DAY_SECONDS) / fares : Number.POSITIVE_INFINITY
  const floor = fares > 0 ? (FLOOR * tickets) / fares : 0
  const promised = maxDelaySeconds === null ? 0 : promisedTicket(maxDelaySeconds, sums)
  return Math.max(Math.sqrt(weight * value * Math.min(rate, cap)), floor, promised, MIN_TICKET)
}

/** Fares with a longest delay, each with its ticket without it. */
export interface PromisedFare {
  readonly ticket: number
  readonly maxDelaySeconds: number
}

/**
 * The sum of the tickets of a queue after its promises have raised some of them: S = S₀ + Σ max(ticket, kept·S / (D·B)), where
 * S₀ is the sum of the others. The schedule comes to the same with each round of checks. Promises are at most seven tenths of the
 * checks, so each step takes away at least three tenths of what is missing.
 */
export function ticketsWithPromises(
  others: number,
  promised: readonly PromisedFare[],
  { requestsPerSecond, promised: needed = 0 }: Pick<ScheduleSums, 'requestsPerSecond' | 'promised'>,
): number {
  let tickets = others
  for (let step = 0; step < MOST_STEPS; step += 1) {
    const sums = { tickets, fares: 0, requestsPerSecond, promised: needed }
    const raised = promised.reduce(
      (sum, { ticket, maxDelaySeconds }) =>
        sum + Math.max(ticket, promisedTicket(maxDelaySeconds, sums)),
      others,
    )
    if (Math.abs(raised - tickets) <= 1e-6 * raised) return raised
    tickets = raised
  }
  return tickets
}

/** 0.7⁴⁰ is below a millionth. */
const MOST_STEPS = 40

/** Keeps 1 / ticket finite. */
const MIN_TICKET = 1e-6
