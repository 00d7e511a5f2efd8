import type { LegStep } from './decide-leg.ts'
import { type FareState, type FareView, pairOf, viewOf } from './fare-state.ts'
import type { Interval } from './leg-belief.ts'

export type FareChangeKind =
  | 'became_available'
  | 'became_unavailable'
  | 'legs_changed'
  | 'price_changed'
  | 'itinerary_changed'
  | 'identity_changed'

/** A confirmed change: it happened after `lastGoodCheckAt` (null: nothing was known) and by `detectedAt`. */
export interface FareChange {
  readonly kind: FareChangeKind
  readonly before: FareView
  readonly after: FareView
  /** When the last good check was asked that bore out what was believed before. */
  readonly lastGoodCheckAt: string | null
  /** When the first answer was asked that contradicted it. */
  readonly detectedAt: string
}

type Found = Interval & { readonly kind: FareChangeKind }

/**
 * Names what one check changed, in a fixed order: identity, availability, itinerary, price.
 *
 * All records of a check share `before` and `after`: a state in between was never believed. Another flight, and
 * entering or leaving `bookable`, swallow changes of price and itinerary of the same check: `after` shows them,
 * and what became of the price of something else is no change of a price.
 */
export function changesOf(
  states: { readonly before: FareState; readonly after: FareState },
  steps: readonly LegStep[],
): FareChange[] {
  const greater = [identityChange(steps), beliefChange(states, steps)].filter((f) => f !== null)
  const swallowed = greater.some(({ kind }) => kind !== 'legs_changed')
  const lesser = swallowed ? [] : [itineraryChange(steps), priceChange(states.after, steps)]
  const found = [...greater, ...lesser.filter((f) => f !== null)]
  if (found.length === 0) return []
  const before = viewOf(states.before)
  const after = viewOf(states.after)
  return found.map((change) => ({ before, after, ...change }))
}

/** Of a flight that was there: which one it was that is gone is not shown, nor that another one came back for it. */
function identityChange(steps: readonly LegStep[]): Found | null {
  return spanOf('identity_changed', steps, ({ before, reidentified }) =>
    before.belief === 'available' ? reidentified : null,
  )
}

function beliefChange(
  states: { readonly before: FareState; readonly after: FareState },
  steps: readonly LegStep[],
): Found | null {
  const was = pairOf(states.before) === 'bookable'
  const is = pairOf(states.after) === 'bookable'
  if (was && !is) return spanOf('became_unavailable', steps, (step) => step.moved)
  if (was || !is) return spanOf('legs_changed', steps, (step) => step.moved)
  const entered = spanOf('became_available', steps, (step) => step.moved)
  // It could be bought no sooner than its last leg.
  return entered && { ...entered, detectedAt: latest(steps) ?? entered.detectedAt }
}

function itineraryChange(steps: readonly LegStep[]): Found | null {
  return spanOf('itinerary_changed', steps, (step) => step.retimed)
}

/**
 * The fare's price is the pair's: that of a leg moves unseen while the other leg cannot be had. A pair that is
 * bookable after the check was so before, or this change is swallowed.
 */
function priceChange(after: FareState, steps: readonly LegStep[]): Found | null {
  if (pairOf(after) !== 'bookable') return null
  return spanOf('price_changed', steps, (step) => step.repriced)
}

/** One change of several legs lies within the widest interval; null where no leg has it. */
function spanOf(
  kind: FareChangeKind,
  steps: readonly LegStep[],
  of: (step: LegStep) => Interval | null,
): Found | null {
  const intervals = steps.map(of).filter((interval) => interval !== null)
  const [detectedAt] = intervals.map((interval) => interval.detectedAt).sort()
  if (detectedAt === undefined) return null
  const begins = intervals.map((interval) => interval.lastGoodCheckAt)
  const lastGoodCheckAt = begins.includes(null) ? null : (begins.sort()[0] ?? null)
  return { kind, lastGoodCheckAt, detectedAt }
}

function latest(steps: readonly LegStep[]): string | undefined {
  return steps
    .flatMap((step) => step.moved?.detectedAt ?? [])
    .sort()
    .at(-1)
}
