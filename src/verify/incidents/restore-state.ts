import type { AvailabilityChangeKind } from '../../base/kinds.ts'
import {
  type FareState,
  type FareView,
  type LegState,
  type LegView,
  UNKNOWN_LEG,
} from '../decide/fare-state.ts'

/**
 * The state of a fare with the belief that it had before a false change: what `before` of the record shows. It is as old
 * as the last good check before that change, `checkedAt`.
 */
export function restoreState(
  state: FareState,
  before: FareView,
  checkedAt: string | null,
): FareState {
  return {
    ...state,
    outbound: restoreLeg(state.outbound, before.outbound, checkedAt),
    return: state.return && before.return && restoreLeg(state.return, before.return, checkedAt),
    lastGoodCheckAt: checkedAt,
  }
}

/** What the false answers left of a leg is dropped. A leg that was not available keeps the flight that is known of it. */
function restoreLeg(
  leg: LegState,
  { belief, price, ...flight }: LegView,
  checkedAt: string | null,
): LegState {
  const { identity, itinerary, flight: summary } = leg
  const known = flight.identity === null ? { identity, itinerary, flight: summary } : flight
  return {
    ...UNKNOWN_LEG,
    confirmedAt: checkedAt,
    pricedAt: price && checkedAt,
    belief,
    price,
    ...known,
  }
}

/** The kind of the record that leads from one shown belief back to another; null if they show the same. */
export function reverseKind(from: FareView, to: FareView): AvailabilityChangeKind | null {
  if (from.pair !== to.pair && to.pair === 'bookable') return 'became_available'
  if (from.pair !== to.pair && from.pair === 'bookable') return 'became_unavailable'
  if (differs(from, to, ({ belief }) => belief)) return 'legs_changed'
  if (differs(from, to, ({ identity }) => identity)) return 'identity_changed'
  if (differs(from, to, ({ itinerary }) => itinerary)) return 'itinerary_changed'
  return differs(from, to, ({ price }) => price && `${price.amount} ${price.currency}`)
    ? 'price_changed'
    : null
}

function differs(from: FareView, to: FareView, fact: (leg: LegView) => string | null): boolean {
  const facts = (view: FareView) => [view.outbound, view.return].map((leg) => leg && fact(leg))
  return facts(from).join() !== facts(to).join()
}
