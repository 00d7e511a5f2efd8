import type { FareChangeKind } from '../../base/kinds.ts'
import type { Interval, LegStep } from './decide-leg.ts'
import { type FareState, type FareView, pairOf, viewOf } from './fare-state.ts'

/** A confirmed change: it happened after `lastGoodCheckAt` (null: nothing was known) and by `detectedAt`. */
export interface FareChange {
  readonly kind: FareChangeKind
  readonly before: FareView
  readonly after: FareView
  /** When the last good check began that showed what was believed before. */
  readonly lastGoodCheckAt: string | null
  /** When the first check began that contradicted it. */
  readonly detectedAt: string
}

type Found = Interval & { readonly kind: FareChangeKind }

/**
 * Names what one check changed, in a fixed order: identity, availability, itinerary, price.
 *
 * All records of a check share `before` and `after`: no state in between was believed. Another flight, and entering or
 * leaving `bookable`, include the changes of price and itinerary of the same check: `after` shows them, and the price of
 * another flight is no change of price.
 */
export function changesOf(
  states: { readonly before: FareState; readonly after: FareState },
  steps: readonly LegStep[],
): FareChange[] {
  const greater = [identityChange(steps), beliefChange(states, steps)].filter((f) => f !== null)
  const includesAll = greater.some(({ kind }) => kind !== 'legs_changed')
  const lesser = includesAll ? [] : [itineraryChange(steps), priceChange(states.after, steps)]
  const found = [...greater, ...lesser.filter((f) => f !== null)]
  if (found.length === 0) return []
  const before = viewOf(states.before)
  const after = viewOf(states.after)
  return found.map((change) => ({ before, after, ...change }))
}

/** Only of a leg that was available: no identity is shown of one that was not, so none can be seen to change. */
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
  // The pair was bookable no earlier than its last leg.
  return entered && { ...entered, detectedAt: latest(steps) ?? entered.detectedAt }
}

function itineraryChange(steps: readonly LegStep[]): Found | null {
  return spanOf('itinerary_changed', steps, (step) => step.retimed)
}

/**
 * The fare's price is the pair's: while the pair is not bookable, the price of a leg changes without a record. A pair that
 * becomes bookable with this check has no price change of its own (see `changesOf`).
 */
function priceChange(after: FareState, steps: readonly LegStep[]): Found | null {
  if (pairOf(after) !== 'bookable') return null
  return spanOf('price_changed', steps, (step) => step.repriced)
}

/** One change of several legs has the widest of their intervals; null where no leg has the change. */
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
