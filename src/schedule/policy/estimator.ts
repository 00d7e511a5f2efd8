/** How often a fare changes in one state: decayed sums over the checks that began in this state. */
export interface RateEstimate {
  /** Changes, each counted as the number of changes that an interval with at least one is expected to hold. */
  readonly changes: number
  /** Days of exposure, each weighted by the factors of its time. */
  readonly exposure: number
}

export const NO_EXPOSURE: RateEstimate = { changes: 0, exposure: 0 }

/**
 * The weight of the prior rate, in changes (α₀): the shape of the gamma distribution of rates. With less, the changes of a
 * few volatile hours look like a rate of the fare; with more, it takes longer until fares that differ have different rates.
 */
const PRIOR_CHANGES = 1
/** An observation counts e times less after this many days. */
export const MEMORY_DAYS = 30

/**
 * Changes a day: θ̂ = (α₀ + a) / (α₀/μ + b), where a are the changes, b the exposure and μ the prior rate. It is the mean
 * of the gamma posterior.
 * @param prior changes a day of similar fares: those of the route, or all.
 */
export function rateOf({ changes, exposure }: RateEstimate, prior: number): number {
  return (PRIOR_CHANGES + changes) / (PRIOR_CHANGES / prior + exposure)
}

/**
 * The estimate after one more check. A check shows whether there was a change since the last one, but not how many.
 *
 * a ← a·d + c·x / (1 − e^−x) and b ← b·d + H, with x = θ̂·H and d = e^(−Δt / 30 days). Its fixed point is the
 * rate at which the expected number of changes, given which intervals held any, equals the rate times the exposure: the
 * maximum-likelihood estimate of a Poisson process that is observed through "none" and "some" (expectation maximisation
 * for censored counts; Cho and Garcia-Molina, "Estimating frequency of change", 2003, treat the same bias). The plain
 * count divided by time shows 0.63 of the true rate where an interval holds one change on average.
 * @param change c: 0 without a change, 1 with one. Between them where the route explains a part of the change.
 * @param exposure H, in days weighted by the factors. @param elapsedDays Δt.
 * @example observeInterval(NO_EXPOSURE, { change: 1, exposure: 1, elapsedDays: 0, rate: 1 }).changes // 1.582
 */
export function observeInterval(
  { changes, exposure: before }: RateEstimate,
  {
    change,
    exposure,
    elapsedDays,
    rate,
  }: {
    readonly change: number
    readonly exposure: number
    readonly elapsedDays: number
    readonly rate: number
  },
): RateEstimate {
  const kept = Math.exp(-elapsedDays / MEMORY_DAYS)
  return {
    changes: changes * kept + change * expectedChanges(rate * exposure),
    exposure: before * kept + exposure,
  }
}

/** The expected number of changes in an interval that holds at least one: x / (1 − e^−x). */
export function expectedChanges(x: number): number {
  return x < 1e-9 ? 1 : x / -Math.expm1(-x)
}
