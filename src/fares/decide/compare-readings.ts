import type { FareChangeKind, LossReason } from '../../platform/base/kinds.ts'
import { type Money, sameMoney, toCents } from '../../platform/base/money.ts'
import {
  type Contradiction,
  type FareState,
  type FareView,
  type LegView,
  legsOf,
} from './fare-state.ts'
import { lossReason } from './reading.ts'

/** A leg as it is believed, and as an answer shows it. */
export interface LegPair {
  readonly leg: 'outbound' | 'return'
  readonly was: LegView
  readonly is: LegView
}

export function pairsOf(belief: FareView, reading: FareView): LegPair[] {
  const pairs: LegPair[] = [{ leg: 'outbound', was: belief.outbound, is: reading.outbound }]
  if (belief.return && reading.return) {
    pairs.push({ leg: 'return', was: belief.return, is: reading.return })
  }
  return pairs
}

export function isComplete(reading: FareView): boolean {
  return legsOf(reading).every((leg) => leg.belief !== 'unknown')
}

/** How one leg of an answer contradicts what is believed of it, prices apart. */
export function legContradiction({
  was,
  is,
}: LegPair): Exclude<Contradiction, 'far_price' | 'near_price'> | null {
  if (is.belief === 'unknown') return null
  if (is.belief !== was.belief) return is.belief === 'unavailable' ? 'loss' : 'gain'
  if (is.identity !== was.identity) return 'identity'
  return is.itinerary === was.itinerary ? null : 'itinerary'
}

const ORDER = ['loss', 'gain', 'identity', 'itinerary'] as const
/** A price that differs by at most so many percent is near. */
const NEAR = 10n

/**
 * How a reading contradicts a belief; null if it agrees, or says nothing. An unavailable leg says so whatever the
 * other leg shows; everything else takes a complete reading.
 *
 * @param isOdd whether the price of the reading is doubtful for itself.
 */
export function contradictionOf(
  belief: FareView,
  reading: FareView,
  isOdd: boolean,
): Contradiction | null {
  const found = pairsOf(belief, reading).map(legContradiction)
  const first = ORDER.find((contradiction) => found.includes(contradiction))
  if (first === 'loss') return first
  if (!isComplete(reading)) return null
  return first ?? priceContradiction(belief, reading, isOdd)
}

/** An unreadable price contradicts nothing. */
function priceContradiction(
  belief: FareView,
  reading: FareView,
  isOdd: boolean,
): Contradiction | null {
  if (reading.pair !== 'bookable' || !hasPrices(reading) || samePrices(belief, reading)) return null
  if (isOdd) return 'far_price'
  return areWithin(belief, reading, NEAR) ? 'near_price' : 'far_price'
}

export function hasPrices(view: FareView): boolean {
  return legsOf(view).every((leg) => leg.price !== null)
}

export function samePrices(one: FareView, other: FareView): boolean {
  return pairsOf(one, other).every(({ was, is }) => sameMoney(was.price, is.price))
}

/** Whether two readings show the same availability by leg, identity and itinerary. */
export function isSameFlight(one: FareView, other: FareView): boolean {
  return pairsOf(one, other).every(
    ({ was, is }) =>
      was.belief === is.belief && was.identity === is.identity && was.itinerary === is.itinerary,
  )
}

/** Whether two readings show the same at any price. */
function isSameAtAnyPrice(one: FareView, other: FareView): boolean {
  const currency = (leg: LegView) => leg.price?.currency ?? null
  return (
    isSameFlight(one, other) &&
    pairsOf(one, other).every(({ was, is }) => currency(was) === currency(is))
  )
}

/**
 * Whether a reading shows the `same` as a candidate: availability by leg, identity, itinerary, currency, and
 * amounts that differ by at most a fifth; or `atAnyPrice`. A loss is the same where one leg is lost in both,
 * whatever the other shows.
 */
export function agreementOf(
  contradiction: Contradiction,
  views: { readonly belief: FareView; readonly candidate: FareView; readonly reading: FareView },
) {
  const { belief, candidate, reading } = views
  if (contradiction === 'loss') {
    const lost = (view: FareView) =>
      pairsOf(belief, view).map(
        ({ was, is }) => is.belief === 'unavailable' && was.belief !== 'unavailable',
      )
    const before = lost(candidate)
    const same = lost(reading).some((isLost, at) => isLost && before[at])
    return { same, atAnyPrice: same }
  }
  const atAnyPrice = isSameAtAnyPrice(candidate, reading)
  return { same: atAnyPrice && areWithin(candidate, reading, 20n), atAnyPrice }
}

/** Whether two readings show the same, and amounts that differ by at most a fifth. */
export function isSame(one: FareView, other: FareView): boolean {
  return isSameAtAnyPrice(one, other) && areWithin(one, other, 20n)
}

/**
 * Whether every leg, and the sum, has a price in the same currency that differs by at most this share; or none in
 * both.
 */
function areWithin(one: FareView, other: FareView, percent: bigint): boolean {
  const legs = pairsOf(one, other).map(({ was, is }) => [was.price, is.price] as const)
  return [...legs, [one.price, other.price] as const].every(([from, to]) =>
    isWithin(from, to, percent),
  )
}

/** Whether two amounts have one currency and differ by at most this share of the first; or there is none of both. */
export function isWithin(from: Money | null, to: Money | null, percent: bigint): boolean {
  if (from === null || to === null) return from === to
  if (from.currency !== to.currency) return false
  const before = toCents(from.amount)
  const difference = toCents(to.amount) - before
  return 100n * (difference < 0n ? -difference : difference) <= percent * before
}

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
 * Names what differs between what was recorded last and what is believed now. Where nothing was believed, that is the first
 * sight of the fare, whatever it shows. Entering or leaving `bookable`
 * includes every other change, and another flight includes those of itinerary and price: `after` shows them. All
 * records of a check share `before` and `after`: no state in between was believed.
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
  if (legsOf(before).every((leg) => leg.belief === 'unknown')) return ['first_seen']
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
