import type { RatedState } from '../../platform/base/kinds.ts'
import {
  createRecencyTables,
  createSurpriseTable,
  type FactorTable,
  MOVED_SECONDS,
  type RecencyTables,
  type RouteChanges,
  recencyAt,
  surpriseBucket,
  surpriseOf,
} from './factors.ts'
import { FIRST_RATE, FIRST_VALUES } from './pace.ts'

/** How often a fare changes in one state: decayed sums over the checks that began in this state. */
export interface RateEstimate {
  /** Changes, each counted as the number of changes that an interval with at least one is expected to hold. */
  readonly changes: number
  /** Days of exposure, each weighted by the factors of its time. */
  readonly exposure: number
}

export const NO_EXPOSURE: RateEstimate = { changes: 0, exposure: 0 }

/**
 * The weight of the prior rate, in changes (α₀): the shape of the gamma distribution of rates. With less, the
 * changes of a few volatile hours look like a rate of the fare; with more, it takes longer until fares that differ
 * have different rates.
 */
const PRIOR_CHANGES = 1
/** An observation counts e times less after this many days. */
export const MEMORY_DAYS = 30

/**
 * Changes a day: θ̂ = (α₀ + a) / (α₀/μ + b), where a are the changes, b the exposure and μ the prior rate. It is
 * the mean of the gamma posterior.
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

export const NEW_FARE: FareMemory = {
  changedAt: null,
  state: null,
  countedAt: null,
  rates: { available: NO_EXPOSURE, unavailable: NO_EXPOSURE },
  values: FIRST_VALUES,
}

/** What the schedule remembers of a route. */
export interface RouteMemory {
  readonly rates: Record<RatedState, RateEstimate>
  changes: RouteChanges
}

/** Which factors count. One that is switched off is 1. */
export interface Switches {
  readonly recency: boolean
  readonly surprise: boolean
}

export const ALL_FACTORS: Switches = { recency: true, surprise: true }

/**
 * What all fares teach: prior rates, and the factors. It is updated in place. A lesson only adds to the rates of
 * all fares: they decay in the database, where processes share them.
 */
export interface RateModel {
  readonly switches: Switches
  readonly all: Record<RatedState, RateEstimate>
  readonly routes: Map<string, RouteMemory>
  readonly recency: RecencyTables
  /** By whether the fare itself has changed lately: most fares change once when their route moves. */
  readonly surprise: { readonly still: FactorTable; readonly moved: FactorTable }
}

export function createRateModel(switches: Switches = ALL_FACTORS): RateModel {
  return {
    switches,
    all: { available: NO_EXPOSURE, unavailable: NO_EXPOSURE },
    routes: new Map(),
    recency: createRecencyTables(),
    surprise: { still: createSurpriseTable(), moved: createSurpriseTable() },
  }
}

/** How much a route's own rate weighs against that of all: as many changes of all count. */
const ROUTE_PRIOR_CHANGES = 10

/** The prior rate of a fare (μ): that of its route, or of all fares. */
export function priorOf(model: RateModel, state: RatedState, route: string | null): number {
  const all = rateOf(model.all[state], FIRST_RATE)
  const own = route === null ? undefined : model.routes.get(route)?.rates[state]
  if (own === undefined) return all
  return (ROUTE_PRIOR_CHANGES + own.changes) / (ROUTE_PRIOR_CHANGES / all + own.exposure)
}

/** The expected changes a day of a fare at an instant (λ): its rate times the factors. */
export function changesPerDay(
  model: RateModel,
  memory: FareMemory,
  { at, route }: { readonly at: number; readonly route: string | null },
): number {
  const state = memory.state ?? 'available'
  const rate = rateOf(memory.rates[state], priorOf(model, state, route))
  return (
    rate *
    (model.switches.recency ? recencyAt(model.recency, state, { ...memory, at }) : 1) *
    surpriseAt(model, memory, { at, route })
  )
}

/** The factor of the surprise of a fare's route at an instant. */
export function surpriseAt(
  model: RateModel,
  memory: FareMemory,
  { at, route }: { readonly at: number; readonly route: string | null },
): number {
  const changes = route === null ? undefined : model.routes.get(route)?.changes
  if (changes === undefined || !model.switches.surprise) return 1
  return surpriseOf(surpriseTableOf(model, memory, at), surpriseBucket(changes, at))
}

/** The table of surprises that counts for a fare. */
export function surpriseTableOf(
  { surprise }: RateModel,
  { changedAt }: FareMemory,
  at: number,
): FactorTable {
  return changedAt !== null && at - changedAt < MOVED_SECONDS ? surprise.moved : surprise.still
}
