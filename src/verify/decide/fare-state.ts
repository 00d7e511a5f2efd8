import { type Money, sumMoney } from '../../base/money.ts'
import type { FlightSummary } from '../../upstream/observation.ts'
import { fieldOf, orNull, readInstant } from './json-shape.ts'
import { type Belief, type LegState, readLeg, UNSEEN_LEG } from './leg-state.ts'

/** What is known of a tracked fare; plain data, as the database keeps it. */
export interface FareState {
  readonly outbound: LegState
  /** Null where the question has no return flight. */
  readonly return: LegState | null
  /** When the last check was asked that told the state of every leg. ISO, UTC, as all times of a state. */
  readonly lastGoodCheckAt: string | null
  /** When the first check was asked by which the fare was believed bookable. */
  readonly everAvailableAt: string | null
}

export type PairState = 'bookable' | 'not_bookable' | 'unknown'

/** What people and records are shown of a fare. Nothing in it changes without a recorded change. */
export interface FareView {
  readonly pair: PairState
  readonly outbound: LegView
  readonly return: LegView | null
  /** Sum of the legs' totals. Null unless the pair is bookable and every leg has a price, all in one currency. */
  readonly price: Money | null
}

export interface LegView {
  readonly belief: Belief
  /** Null while the pair is not bookable: there is no price at which the fare could be bought. */
  readonly price: Money | null
  /** These are null unless the leg is available: of a flight that is gone an answer tells nothing. */
  readonly identity: string | null
  readonly itinerary: string | null
  readonly flight: FlightSummary | null
}

const NO_FLIGHT = { identity: null, itinerary: null, flight: null }

export function initialState(hasReturn: boolean): FareState {
  return {
    outbound: UNSEEN_LEG,
    return: hasReturn ? UNSEEN_LEG : null,
    lastGoodCheckAt: null,
    everAvailableAt: null,
  }
}

/** Whether a loss, a gain or another flight waits for a further look. */
export function isDoubted(state: FareState): boolean {
  return legsOf(state).some((leg) => leg.against > 0 || leg.strange !== null)
}

/** Bookable: all legs are available. Not bookable: any leg is unavailable. Unknown: else. */
export function pairOf(state: FareState): PairState {
  const beliefs = legsOf(state).map((leg) => leg.belief)
  if (beliefs.includes('unavailable')) return 'not_bookable'
  return beliefs.includes('unknown') ? 'unknown' : 'bookable'
}

/**
 * The price at which the fare could be bought, as one sum; null where there is none. Only legs that are available
 * have a price: where every leg has one, the pair is bookable.
 */
export function shownPrice(state: FareState): Money | null {
  const legs = legsOf(state)
  const prices = legs.map((leg) => leg.price).filter((price) => price !== null)
  return prices.length === legs.length ? sumMoney(prices) : null
}

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

/** The state as the database keeps it: a plain object that `fromJson` reads back. */
export function toJson(state: FareState): object {
  return state
}

/** Reads what `toJson` gave, as parsed JSON; fields that it does not know are dropped. Throws FareStateError. */
export function fromJson(value: unknown): FareState {
  const state = { value, where: '' }
  return {
    outbound: readLeg(fieldOf(state, 'outbound')),
    return: orNull(fieldOf(state, 'return'), readLeg),
    lastGoodCheckAt: orNull(fieldOf(state, 'lastGoodCheckAt'), readInstant),
    everAvailableAt: orNull(fieldOf(state, 'everAvailableAt'), readInstant),
  }
}

function legsOf(state: FareState): LegState[] {
  return state.return === null ? [state.outbound] : [state.outbound, state.return]
}
