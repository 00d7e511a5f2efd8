import type { FareChangeKind, LossReason } from '../../platform/base/kinds.ts'
import { hasPrices, samePrices } from './compare-readings.ts'
import { lossReason } from './departure.ts'
import { type FareState, type FareView, legsOf } from './fare-state.ts'

/** A confirmed change: it happened after `lastGoodCheckAt` (null: nothing was known) and by `detectedAt`. */
export interface FareChange {
  readonly kind: FareChangeKind
  /** Null except for `became_unavailable`. */
  readonly reason: LossReason | null
  readonly before: FareView
  readonly after: FareView
  /** When the last check began that showed what was believed before. */
  readonly lastGoodCheckAt: string | null
  /** When the first check began that contradicted it. */
  readonly detectedAt: string
  /** Since when a mass held it; null if none did. */
  readonly heldSince: string | null
}

interface Interval {
  /** When the first check began that contradicted the belief. */
  readonly since: string
  readonly at: string
  readonly heldSince: string | null
}

/**
 * Names what differs between what was recorded last and what is believed now. Entering or leaving `bookable` includes every
 * other change, and another flight includes those of itinerary and price: `after` shows them. All records of a check share
 * `before` and `after`: no state in between was believed.
 */
export function changesOf(
  state: FareState,
  { belief: after, lastFlights }: Pick<FareState, 'belief' | 'lastFlights'>,
  { since, at, heldSince }: Interval,
): FareChange[] {
  const before = state.belief
  return kindsOf(before, after).map((kind) => {
    const reason =
      kind === 'became_unavailable' ? lossReason({ belief: after, lastFlights }, at) : null
    // Good checks go on while a price is contradicted, and none of them has shown the old price.
    const lastGoodCheckAt = kind === 'price_changed' ? state.pricedAt : state.lastGoodCheckAt
    return { kind, reason, before, after, lastGoodCheckAt, detectedAt: since, heldSince }
  })
}

function kindsOf(before: FareView, after: FareView): FareChangeKind[] {
  if (before.pair !== after.pair && after.pair === 'bookable') return ['became_available']
  if (before.pair !== after.pair && before.pair === 'bookable') return ['became_unavailable']
  const was = legsOf(before)
  const kinds: FareChangeKind[] = []
  const hasMoved = legsOf(after).some(({ belief }, at) => belief !== was[at]?.belief)
  const isOther = differs(before, after, 'identity')
  if (isOther) kinds.push('identity_changed')
  if (hasMoved) kinds.push('legs_changed')
  if (isOther) return kinds
  if (differs(before, after, 'itinerary')) kinds.push('itinerary_changed')
  // A price that can no longer be read is no change of it: `priceReason` shows that.
  if (hasPrices(after) && !samePrices(before, after)) kinds.push('price_changed')
  return kinds
}

/** Only of legs that are available before and after: of one that is not, no identity is shown. */
function differs(before: FareView, after: FareView, of: 'identity' | 'itinerary'): boolean {
  const was = legsOf(before)
  return legsOf(after).some((leg, at) => {
    const known = was[at]?.[of] ?? null
    return known !== null && leg[of] !== null && known !== leg[of]
  })
}
