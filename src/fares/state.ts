import { isDeepStrictEqual } from 'node:util'
import {
  CONTRADICTED,
  type Contradiction,
  type HeldKind,
  isHeldKind,
  isOtherSite,
  type ReadFare,
  type ReadLeg,
} from '../platform/base/change-kinds.ts'
import { AppError } from '../platform/base/errors.ts'
import type { Belief, BeliefState, HiddenReason, ShownPriceReason } from '../platform/base/kinds.ts'
import { type Money, sameMoney, sumMoney } from '../platform/base/money.ts'
import type { FlightSummary, LegObservation, LegPrice, Site } from '../upstream/observation.ts'

/**
 * A reading: what one answer shows of the whole fare. A belief is one reading, adopted whole, so records and pages
 * show it as it is. It changes only with a recorded change.
 */
export interface FareView {
  readonly pair: BeliefState
  readonly outbound: LegView
  readonly return: LegView | null
  /** The sum of the legs' totals. Null unless the pair is bookable and every leg has a price, all in one currency. */
  readonly price: Money | null
  /** Why a bookable fare has no price. Missing otherwise. */
  readonly priceReason?: ShownPriceReason
}

export interface LegView {
  readonly belief: Belief
  /** Null unless the pair is bookable: otherwise there is no price at which the fare can be bought. */
  readonly price: LegPrice | null
  /** The next three are null unless the leg is available: an answer without a flight does not say which one is gone. */
  readonly identity: string | null
  readonly itinerary: string | null
  readonly flight: FlightSummary | null
}

/** A reading that contradicts the belief, until enough answers confirm it. Times are ISO instants in UTC. */
export interface Candidate {
  readonly contradiction: Contradiction
  /** When the first answer began that contradicted the belief so, without one in between that agreed. */
  readonly since: string
  /** When its wait for a mass began, last; null if none has counted it. From then on its answers must span MASS_HOLD_MINUTES. */
  readonly heldSince: string | null
  /** Until when it waits for a mass; null if it does not, or not any more. */
  readonly heldUntil: string | null
  /** While it waits: the answers in a row, up to the last one, that said nothing of it. */
  readonly unshown?: number
  /** The reading of the last counted answer. */
  readonly view: FareView
  /** The number of counted answers in a row that show it. */
  readonly answers: number
  /** The number of counted answers in a row that show it at any price, itinerary and site. */
  readonly alike: number
  /** How many candidates of other kinds it and those before it have displaced, without an answer that agreed. */
  readonly displaced?: number
  /** When the last counted answer began. */
  readonly countedAt: string
}

/** A belief that a record has replaced, as far as readings are compared with it. */
interface ReplacedBelief {
  readonly view: ReadFare
  /** When the answer began that replaced it. */
  readonly at: string
  /** Whether the record was held before. */
  readonly held: boolean
}

/** A record is undone only after three answers for so long after it. */
export const UNDO_MS = 10 * 60_000
/** For so long after a held record a reading may return to what was believed before it. */
const HELD_RETURN_MS = 24 * 3_600_000

/** Whether a reading at an instant may still return to a belief that a record has replaced. */
export function isRecent({ at: replacedAt, held }: ReplacedBelief, at: string): boolean {
  return Date.parse(at) - Date.parse(replacedAt) < (held ? HELD_RETURN_MS : UNDO_MS)
}

/** Answers in a row that were unusable. */
export interface Silence {
  /** When the first of them began. */
  readonly since: string
  readonly answers: number
  /** Whether they are so many, for so long, that the belief is not shown any more. */
  readonly isShown: boolean
}

/** The state of a tracked fare: plain data. Its instants are those of requests, as ISO text in UTC. */
export interface FareState {
  readonly belief: FareView
  /**
   * The last believed flight of each leg, where the belief shows none: the departure of a sold-out fare follows
   * from it.
   */
  readonly lastFlights: {
    readonly outbound: FlightSummary | null
    readonly return: FlightSummary | null
  }
  readonly candidate: Candidate | null
  /** What the records of the last ten minutes have replaced, and those that were held, newest first. */
  readonly replaced: readonly ReplacedBelief[]
  /** The answers since the last one that counted; null if that was the last answer. */
  readonly silence: Silence | null
  /** When the last good check began: one that agreed in availability, identity, itinerary and site. */
  readonly lastGoodCheckAt: string | null
  /** When the last check began that showed the price; null where none is believed. */
  readonly pricedAt: string | null
  /** Why the last answers did not show the price of a bookable fare; null where they did. */
  readonly priceReason: ShownPriceReason | null
  /** When the first check began that made the fare bookable. */
  readonly everAvailableAt: string | null
}

const NO_FLIGHT = { identity: null, itinerary: null, flight: null }
const UNKNOWN_LEG: LegView = { belief: 'unknown', price: null, ...NO_FLIGHT }
const UNAVAILABLE_LEG: LegView = { ...UNKNOWN_LEG, belief: 'unavailable' }

/** What is shown of a fare of which nothing is known. */
export function unknownView(hasReturn: boolean): FareView {
  return viewOf(UNKNOWN_LEG, hasReturn ? UNKNOWN_LEG : null)
}

/** What is shown of a fare that has ended: its flights can no longer be booked. */
export function endedView(hasReturn: boolean): FareView {
  return viewOf(UNAVAILABLE_LEG, hasReturn ? UNAVAILABLE_LEG : null)
}

export function initialState(hasReturn: boolean): FareState {
  return {
    belief: unknownView(hasReturn),
    lastFlights: { outbound: null, return: null },
    candidate: null,
    replaced: [],
    silence: null,
    lastGoodCheckAt: null,
    pricedAt: null,
    priceReason: null,
    everAvailableAt: null,
  }
}

/** A fare of these legs. Prices of legs are dropped unless the pair is bookable. */
export function viewOf(
  outbound: LegView,
  back: LegView | null,
  reason?: ShownPriceReason,
): FareView {
  const legs = back === null ? [outbound] : [outbound, back]
  const pair = pairOf(legs.map((leg) => leg.belief))
  const shown = (leg: LegView) => (pair === 'bookable' ? leg : { ...leg, price: null })
  const prices = legs.map((leg) => leg.price).filter((price) => price !== null)
  const view = { pair, outbound: shown(outbound), return: back && shown(back) }
  if (pair !== 'bookable') return { ...view, price: null }
  if (prices.length < legs.length) {
    return { ...view, price: null, priceReason: reason ?? 'unreadable' }
  }
  const price = sumMoney(prices)
  return price === null ? { ...view, price, priceReason: 'mixed_currencies' } : { ...view, price }
}

export function legOf(answer: LegObservation): LegView {
  if (answer.kind === 'unknown') return UNKNOWN_LEG
  if (answer.kind === 'unavailable') return UNAVAILABLE_LEG
  const { price, identity, itinerary, flight } = answer.flight
  return { belief: 'available', price, identity, itinerary, flight }
}

/** Bookable: all legs are available. Not bookable: any leg is unavailable. Unknown: otherwise. */
function pairOf(beliefs: readonly Belief[]): BeliefState {
  if (beliefs.includes('unavailable')) return 'not_bookable'
  return beliefs.includes('unknown') ? 'unknown' : 'bookable'
}

/** A fare as far as readings are compared with it. */
export function comparedView({ pair, outbound, return: back, price }: FareView): ReadFare {
  return { pair, outbound: comparedLeg(outbound), return: back && comparedLeg(back), price }
}

function comparedLeg({ flight, ...leg }: LegView): ReadLeg {
  return { ...leg, flight: flight && (flight.site ? { site: flight.site } : {}) }
}

export function legsOf({ outbound, return: back }: FareView): LegView[] {
  return back === null ? [outbound] : [outbound, back]
}

/** The same fare with other legs. */
export function mapLegs(
  { outbound, return: back }: FareView,
  map: (leg: LegView) => LegView,
  reason?: ShownPriceReason,
): FareView {
  return viewOf(map(outbound), back && map(back), reason)
}

export function withoutPrice(view: FareView, reason: ShownPriceReason | null): FareView {
  return mapLegs(view, (leg) => ({ ...leg, price: null }), reason ?? undefined)
}

/** A reading, with what is believed of the legs and sites that it says nothing about. */
export function filledUp(reading: FareView, belief: FareView): FareView {
  const of = (leg: LegView, believed: LegView) =>
    leg.belief === 'unknown' ? believed : withKnownSite(leg, believed)
  return viewOf(
    of(reading.outbound, belief.outbound),
    reading.return && belief.return && of(reading.return, belief.return),
  )
}

function withKnownSite(leg: LegView, { identity, flight }: LegView): LegView {
  const site = leg.identity === identity && latestSite(flight?.site, leg.flight?.site)
  return leg.flight && site ? { ...leg, flight: { ...leg.flight, site } } : leg
}

/** The site that was shown last, but of the same site the last answer that names it in full. The same object if it is equal. */
function latestSite(was: Site | undefined, is: Site | undefined): Site | undefined {
  if (was === undefined || isOtherSite(was, is)) return is ?? was
  return is?.id && is.name && !isDeepStrictEqual(is, was) ? is : was
}

/**
 * A belief with what an answer that agrees says more of its flights: places and prices of passengers that the belief
 * does not have, and the latest name and address of a site. That is no change. The same object where nothing is new.
 */
export function completed(belief: FareView, reading: FareView): FareView {
  const outbound = completedLeg(belief.outbound, reading.outbound)
  const back = belief.return && reading.return && completedLeg(belief.return, reading.return)
  const isSame = outbound === belief.outbound && back === belief.return
  return isSame ? belief : { ...belief, outbound, return: back }
}

function completedLeg(was: LegView, is: LegView): LegView {
  const flight = was.flight && is.flight && completedFlight(was.flight, is.flight)
  const isMore =
    !was.price?.nonResidents && is.price?.nonResidents && sameMoney(was.price, is.price)
  const price = was.price && isMore ? { ...is.price, ...was.price } : was.price
  const isSame = price === was.price && (flight === null || flight === was.flight)
  return isSame ? was : { ...was, price, flight: flight ?? was.flight }
}

function completedFlight(was: FlightSummary, is: FlightSummary): FlightSummary {
  const { places = is.places } = was
  const site = latestSite(was.site, is.site)
  if (site === was.site && places === was.places) return was
  return { ...was, ...(site && { site }), ...(places && { places }) }
}

/** The same flights, with nothing shown of their availability and prices. */
export function hiddenView(view: FareView): FareView {
  return mapLegs(view, (leg) => ({ ...leg, belief: 'unknown', price: null }))
}

/** The kind of the change that waits for a mass; null if none does. */
export function heldKindOf({ candidate }: Pick<FareState, 'candidate'>): HeldKind | null {
  if (candidate === null || candidate.heldUntil === null) return null
  const { kind } = CONTRADICTED[candidate.contradiction]
  return isHeldKind(kind) ? kind : null
}

/** Why the belief is not shown, its age apart. The belief itself stays. A held price hides the price alone. */
export function hiddenReasonOf({ candidate, silence }: FareState): HiddenReason | null {
  const held = heldKindOf({ candidate })
  if (held !== null && held !== 'price_changed') return 'held'
  if (candidate?.contradiction === 'identity') return 'identity_mismatch'
  return silence?.isShown ? 'unanswered' : null
}

/** Why the price is not shown, or was not shown by the last answers. Null unless the pair is bookable. */
export function priceReasonOf({
  belief,
  candidate,
  priceReason,
}: FareState): ShownPriceReason | null {
  if (belief.pair !== 'bookable') return null
  return heldKindOf({ candidate }) === 'price_changed' ? 'held' : priceReason
}

/** The same belief, with nothing said about when it was confirmed: the instants may be by a clock that was set back. */
export function withoutInstants(state: FareState): FareState {
  return {
    ...state,
    candidate: null,
    replaced: [],
    silence: null,
    lastGoodCheckAt: null,
    pricedAt: null,
  }
}

/** A stored state that this version cannot read. */
class FareStateError extends AppError {
  override readonly name = 'FareStateError'
  override readonly code = 'verify.state_malformed'

  constructor(part: string) {
    super(`the stored state of a fare is malformed: ${part} is missing`)
  }
}

/**
 * The parts of a state that are stored as JSON. The other ones are columns, so a check that finds nothing new leaves
 * the JSON as it is.
 */
export interface StoredState {
  readonly belief: FareView
  readonly lastFlights: FareState['lastFlights']
  readonly candidate: Candidate | null
  readonly replaced: readonly ReplacedBelief[]
}

const PARTS = ['belief', 'lastFlights', 'candidate', 'replaced'] as const

export function storedState({ belief, lastFlights, candidate, replaced }: FareState): StoredState {
  return { belief, lastFlights, candidate, replaced }
}

/** Whether a stored state has the same parts. Parts that a decision leaves as they are stay the same objects. */
export function isStored(state: FareState, stored: object): boolean {
  return PARTS.every((part) => (stored as Partial<StoredState>)[part] === state[part])
}

/** The row of a fare, as far as its state consists of it. */
export interface StateRow {
  /** A StoredState; an empty object, or null without a row, before the first check. */
  readonly state: object | null
  readonly hasReturn: boolean
  readonly lastGoodCheckAt: Date | null
  readonly priceCheckedAt: Date | null
  readonly priceReason: ShownPriceReason | null
  readonly everAvailableAt: Date | null
  /** Missing where it does not matter. */
  readonly silence?: Silence | null
}

/**
 * Reads the state of a fare from its row. The JSON is written by this module alone, so it is checked for being of this
 * version, and not field by field. Throws FareStateError.
 */
export function stateOfRow(row: StateRow): FareState {
  const { state } = row
  if (state === null || Object.keys(state).length === 0) return initialState(row.hasReturn)
  const missing = PARTS.find((part) => !Object.hasOwn(state, part))
  if (missing !== undefined) throw new FareStateError(missing)
  return {
    ...(state as StoredState),
    silence: row.silence ?? null,
    lastGoodCheckAt: row.lastGoodCheckAt?.toISOString() ?? null,
    pricedAt: row.priceCheckedAt?.toISOString() ?? null,
    priceReason: row.priceReason,
    everAvailableAt: row.everAvailableAt?.toISOString() ?? null,
  }
}
