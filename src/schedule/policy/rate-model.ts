import type { RatedState } from '../../platform/base/kinds.ts'
import { NO_EXPOSURE, type RateEstimate, rateOf } from './estimator.ts'
import type { FactorTable } from './factor-table.ts'
import { createRecencyTables, type RecencyTables, recencyAt } from './recency.ts'
import {
  createSurpriseTable,
  MOVED_SECONDS,
  type RouteChanges,
  surpriseBucket,
  surpriseOf,
} from './route-surprise.ts'
import { FIRST_RATE, FIRST_VALUES } from './worth.ts'

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
 * What all fares teach: prior rates, and the factors. It is updated in place. A lesson only adds to the rates of all fares:
 * they decay in the database, where processes share them.
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
