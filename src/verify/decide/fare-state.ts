import type { Belief, PairState, PriceReason } from '../../base/kinds.ts'
import { type Money, sumMoney } from '../../base/money.ts'
import type { FlightSummary } from '../../upstream/observation.ts'

/** The price of one leg. */
export interface LegPrice {
  /** Null unless the leg is available, and until its price can be read. */
  readonly price: Money | null
  /** When the last check began that showed this price; null where there is none. */
  readonly pricedAt: string | null
  /** Why the last answer with the flight did not show this price; null where it did. */
  readonly priceReason: Exclude<PriceReason, 'mixed_currencies'> | null
  readonly candidatePrice: CandidatePrice | null
}

/** A price far from the believed one, until a second answer confirms it. */
export interface CandidatePrice {
  readonly price: Money
  readonly firstSeenAt: string
}

/** The state of one leg. Times are ISO instants in UTC: when requests began. */
export interface LegState extends LegPrice {
  readonly belief: Belief
  /** The number of counted answers in a row that contradict the belief. */
  readonly contradictions: number
  /** When the request of the first of these answers began. Null if there are none. */
  readonly contradictedSince: string | null
  /** The last good check that showed all that is believed of the leg: the interval of a change begins there. */
  readonly confirmedAt: string | null
  /** The flight as last believed; kept while it is unavailable. Null: no answer has shown it yet. */
  readonly identity: string | null
  readonly itinerary: string | null
  readonly flight: FlightSummary | null
  readonly candidate: CandidateFlight | null
}

/** Another flight that answers have shown under the leg's id, until a second answer confirms it. */
export interface CandidateFlight {
  readonly identity: string
  readonly itinerary: string
  readonly firstSeenAt: string
  /** The leg's `confirmedAt` when the candidate was first seen: the identity changed after that. */
  readonly lastGoodCheckAt: string | null
}

export const NO_PRICE: LegPrice = {
  price: null,
  pricedAt: null,
  priceReason: null,
  candidatePrice: null,
}

export const UNKNOWN_LEG: LegState = {
  ...NO_PRICE,
  belief: 'unknown',
  contradictions: 0,
  contradictedSince: null,
  confirmedAt: null,
  identity: null,
  itinerary: null,
  flight: null,
  candidate: null,
}

/** The state of a tracked fare: plain data, stored as JSON and read by `parseFareState`. */
export interface FareState {
  readonly outbound: LegState
  /** Null where the question has no return flight. */
  readonly return: LegState | null
  /** When the last good check began: one that showed the state of every leg. */
  readonly lastGoodCheckAt: string | null
  /** When the first check began that made the fare bookable. */
  readonly everAvailableAt: string | null
}

export function initialState(hasReturn: boolean): FareState {
  return {
    outbound: UNKNOWN_LEG,
    return: hasReturn ? UNKNOWN_LEG : null,
    lastGoodCheckAt: null,
    everAvailableAt: null,
  }
}

/** What records and pages show of a fare. It changes only with a recorded change. */
export interface FareView {
  readonly pair: PairState
  readonly outbound: LegView
  readonly return: LegView | null
  /** The sum of the legs' totals. Null unless the pair is bookable and every leg has a price, all in one currency. */
  readonly price: Money | null
}

export interface LegView {
  readonly belief: Belief
  /** Null unless the pair is bookable: otherwise there is no price at which the fare can be bought. */
  readonly price: Money | null
  /** The next three are null unless the leg is available: an answer without a flight does not say which one is gone. */
  readonly identity: string | null
  readonly itinerary: string | null
  readonly flight: FlightSummary | null
}

const NO_FLIGHT = { identity: null, itinerary: null, flight: null }

export function viewOf(state: FareState): FareView {
  const pair = pairOf(state)
  const viewLeg = ({ belief, price, identity, itinerary, flight }: LegState): LegView => ({
    belief,
    price: pair === 'bookable' ? price : null,
    ...(belief === 'available' ? { identity, itinerary, flight } : NO_FLIGHT),
  })
  return {
    pair,
    outbound: viewLeg(state.outbound),
    return: state.return && viewLeg(state.return),
    price: shownPrice(state),
  }
}

/** What is shown of a fare that has ended: its flights can no longer be booked. */
export function endedView(hasReturn: boolean): FareView {
  const leg: LegView = { belief: 'unavailable', price: null, ...NO_FLIGHT }
  return { pair: 'not_bookable', outbound: leg, return: hasReturn ? leg : null, price: null }
}

/** Bookable: all legs are available. Not bookable: any leg is unavailable. Unknown: otherwise. */
export function pairOf(state: FareState): PairState {
  const beliefs = legsOf(state).map((leg) => leg.belief)
  if (beliefs.includes('unavailable')) return 'not_bookable'
  return beliefs.includes('unknown') ? 'unknown' : 'bookable'
}

/**
 * The price at which the fare can be bought, as one sum; null where there is none. Only available legs have a price, so
 * the pair is bookable where every leg has one.
 */
export function shownPrice(state: FareState): Money | null {
  const legs = legsOf(state)
  const prices = legs.map((leg) => leg.price).filter((price) => price !== null)
  return prices.length === legs.length ? sumMoney(prices) : null
}

/** How current the price of a bookable pair is. */
export interface PriceCheck {
  /** When the last check began that showed the price of each leg; null where a leg has none. */
  readonly checkedAt: string | null
  /** Why the last answers did not show the price; null where they did. */
  readonly reason: PriceReason | null
}

/** The oldest of the legs' instants, and the first of their reasons. Both are null unless the pair is bookable. */
export function priceCheckOf(state: FareState): PriceCheck {
  if (pairOf(state) !== 'bookable') return { checkedAt: null, reason: null }
  const legs = legsOf(state)
  const instants = legs.flatMap(({ pricedAt }) => (pricedAt === null ? [] : Date.parse(pricedAt)))
  const reason = legs.find((leg) => leg.priceReason !== null)?.priceReason ?? null
  if (instants.length < legs.length) return { checkedAt: null, reason }
  const mixed = shownPrice(state) === null ? 'mixed_currencies' : null
  const checkedAt = new Date(Math.min(...instants)).toISOString()
  return { checkedAt, reason: reason ?? mixed }
}

/** The same belief, with nothing said about when it was confirmed: the instants may be by a clock that was set back. */
export function withoutInstants(state: FareState): FareState {
  const undated = (leg: LegState): LegState => ({
    ...leg,
    contradictions: 0,
    contradictedSince: null,
    confirmedAt: null,
    pricedAt: null,
    candidate: null,
    candidatePrice: null,
  })
  const { outbound, return: back } = state
  return {
    ...state,
    outbound: undated(outbound),
    return: back && undated(back),
    lastGoodCheckAt: null,
  }
}

/** The state without the prices that no check has shown since an instant. */
export function withoutOldPrices(state: FareState, since: Date): FareState {
  const current = (leg: LegState): LegState =>
    leg.pricedAt !== null && Date.parse(leg.pricedAt) < since.getTime()
      ? { ...leg, ...NO_PRICE }
      : leg
  return {
    ...state,
    outbound: current(state.outbound),
    return: state.return && current(state.return),
  }
}

function legsOf(state: FareState): LegState[] {
  return state.return === null ? [state.outbound] : [state.outbound, state.return]
}
