import type { HeldKind } from '../../platform/base/kinds.ts'
import {
  changesOf,
  contradictionOf,
  type FareChange,
  guardedLegsOf,
  hasPrices,
  isComplete,
} from './compare-readings.ts'
import {
  CONFIRMATIONS,
  type Counted,
  countContradiction,
  type Deciding,
  type DecisionRules,
  HELD_RETURN_MS,
  judge,
  type MassContext,
  returnsToBeforeHold,
  UNDO_MS,
  type Verdict,
} from './confirmations.ts'
import {
  CONTRADICTIONS,
  type FareState,
  type FareView,
  filledUp,
  HELD_KIND,
  type LegView,
  legsOf,
  mapLegs,
  NOTHING_WAITS,
  withoutPrice,
} from './fare-state.ts'
import { type Answer, type LegOutcome, type Reading, readingOf } from './reading.ts'

/**
 * What follows the check: the next one by the schedule, a confirmation at an instant, one early retry, or the next
 * in an hour.
 */
export type FollowUp = 'normal' | 'retry' | 'hourly' | { readonly confirmAt: Date }

export interface Decision {
  readonly state: FareState
  readonly changes: readonly FareChange[]
  readonly next: FollowUp
  readonly outcome: { readonly outbound: LegOutcome; readonly return: LegOutcome | null }
  /** Whether the answer agrees with what is believed after it, prices apart: the age of the belief begins again. */
  readonly good: boolean
  /** Whether the answer showed a departure that was past at first sight. */
  readonly past: boolean
}

/**
 * Decides what one answer of the upstream means for a tracked fare: what is believed now, which changes that
 * confirms, and what follows the check. Pure and total; docs/reference/availability-states.md is its table of
 * cases.
 *
 * The belief is one reading, adopted whole. A reading that contradicts it becomes the candidate, until enough
 * answers show the same (confirmations.ts) and no mass holds the change. An answer that says nothing changes
 * nothing, not even a count.
 */
export function decide(
  state: FareState,
  answer: Answer,
  rules: DecisionRules,
  context: MassContext,
): Decision {
  const reading = readingOf(state, answer)
  const contradiction = contradictionOf(state.belief, reading.view, reading.isOdd)
  if (contradiction === null) {
    // An answer that says nothing neither confirms nor cancels.
    if (isComplete(reading.view)) return agree(state, reading)
    return decisionOf(state, reading, { good: false, next: followUnknown(state, reading, rules) })
  }
  const deciding = { reading, rules, context }
  const counted = countContradiction(state, contradiction, deciding)
  const verdict = judge(state, counted, deciding)
  return verdict.isConfirmed
    ? adopt(state, counted, verdict, deciding)
    : wait(state, counted, verdict, deciding)
}

/** Availability, identity and itinerary agree; so does the price, or it is unreadable. */
function agree(state: FareState, reading: Reading): Decision {
  const { view, at } = reading
  const isPriced = view.pair !== 'bookable' || hasPrices(view)
  // An unreadable price says nothing about the price that waits.
  const isOfPrice = state.candidate && HELD_KIND[state.candidate.contradiction] === 'price_changed'
  const pending = isPriced || !isOfPrice ? NOTHING_WAITS : {}
  const after = { ...state, ...pending, ...priceOr(state, view, at), lastGoodCheckAt: at }
  return decisionOf(after, reading, { good: true, next: 'normal' })
}

/** An answer that agrees, but shows no price, leaves the believed one. */
function priceOr({ pricedAt }: FareState, view: FareView, at: string) {
  const priced = pricedBy(view, at)
  return view.pair === 'bookable' ? { ...priced, pricedAt: priced.pricedAt ?? pricedAt } : priced
}

/** When the belief's price was shown. A bookable pair with legs in several currencies has no sum. */
function pricedBy(view: FareView, at: string): Pick<FareState, 'pricedAt' | 'priceReason'> {
  const isPriced = view.pair === 'bookable' && hasPrices(view)
  return { pricedAt: isPriced ? at : null, priceReason: view.priceReason ?? null }
}

/** The contradiction is not believed yet. One of the price alone leaves the rest of the belief confirmed. */
function wait(
  state: FareState,
  { candidate, countsFrom, isReplacement }: Counted,
  { isHeld, heldSince }: Verdict,
  { reading, rules }: Deciding,
): Decision {
  const kind = HELD_KIND[candidate.contradiction]
  const good = kind === 'price_changed'
  const after: FareState = {
    ...state,
    candidate,
    holds: {
      ...holdsAfter(state.holds, kind),
      ...(heldSince === null ? {} : { [kind]: heldSince }),
    },
    held: isHeld ? kind : null,
    ...(good ? { lastGoodCheckAt: reading.at, priceReason: 'unconfirmed' as const } : {}),
  }
  const holdEnds = endOfHold(heldSince, rules)
  const confirmAt = isHeld && holdEnds ? holdEnds : countsFrom
  // An upstream that shows another flight every time would otherwise be asked every 20 seconds for ever.
  const isHurried =
    holdEnds !== null && Date.parse(reading.at) - holdEnds.getTime() < CONFIRM_TIMEOUT_MS
  const next = isReplacement && !isHurried ? 'normal' : { confirmAt }
  return decisionOf(after, reading, { good, next })
}

function endOfHold(since: string | null | undefined, { massHoldMs }: DecisionRules): Date | null {
  return since ? new Date(Date.parse(since) + massHoldMs) : null
}

const BY_RANK = [...new Set(CONTRADICTIONS.map((contradiction) => HELD_KIND[contradiction]))]

/** A contradiction shows that the belief is right in all that ranks before it: what waited there is forgotten. */
function holdsAfter(holds: FareState['holds'], kind: HeldKind): FareState['holds'] {
  const rank = BY_RANK.indexOf(kind)
  return Object.fromEntries(
    BY_RANK.slice(rank).flatMap((of) => (holds[of] ? [[of, holds[of]]] : [])),
  )
}

/**
 * The reading becomes the belief, as a whole. Only of a lost pair may a leg be unknown: it keeps what is believed
 * of it.
 */
function adopt(
  state: FareState,
  { candidate }: Counted,
  { heldSince }: Verdict,
  { reading, context }: Deciding,
): Decision {
  const { at, isOdd } = reading
  const isOfPriceAlone = HELD_KIND[candidate.contradiction] === 'price_changed'
  // A price that comes with another change waits if it is odd or unlike that of the answers before, until a second answer shows
  // it, and while prices are a mass. A price alone is confirmed by itself.
  const isSeenOnce = candidate.answers < 2 && (isOdd || candidate.atAnyPrice > 1)
  const isUnconfirmed = isSeenOnce || context.masses.has('price_changed')
  const isDoubtful = !isOfPriceAlone && isUnconfirmed
  const whole = filledUp(reading.view, state.belief)
  const belief = isDoubtful ? withoutPrice(whole, 'unconfirmed') : whole
  const good = isComplete(reading.view)
  const lastFlights = {
    outbound: lastFlight(belief.outbound, state.belief.outbound, state.lastFlights.outbound),
    return:
      belief.return && lastFlight(belief.return, state.belief.return, state.lastFlights.return),
  }
  const shown = { belief, lastFlights }
  const changes = changesOf(state, shown, { since: candidate.since, at, heldSince })
  const after: FareState = {
    ...state,
    ...shown,
    replaced: replacedAfter(state, at, heldSince !== null),
    ...NOTHING_WAITS,
    lastGoodCheckAt: good ? at : state.lastGoodCheckAt,
    ...pricedBy(belief, at),
    everAvailableAt: state.everAvailableAt ?? (belief.pair === 'bookable' ? at : null),
  }
  const next = good ? 'normal' : 'retry'
  return { ...decisionOf(after, reading, { good, next }), changes }
}

function lastFlight(
  is: LegView,
  was: LegView | null,
  last: FareState['lastFlights']['outbound'],
): FareState['lastFlights']['outbound'] {
  return is.flight === null ? (was?.flight ?? last) : null
}

/** So many are kept, and the last one that a held record has replaced. */
const MOST_REPLACED = 4

function replacedAfter(
  { belief, replaced }: FareState,
  at: string,
  held: boolean,
): FareState['replaced'] {
  const kept = replaced.filter(
    (one) => Date.parse(at) - Date.parse(one.at) < (one.held ? HELD_RETURN_MS : UNDO_MS),
  )
  if (!isComplete(belief)) return kept
  // The identity and the itinerary suffice to compare.
  const view = mapLegs(belief, (leg) => ({ ...leg, flight: null }))
  const all = [{ view, at, held }, ...kept]
  const lastHeld = all.find((one) => one.held)
  return all.filter((one, place) => place < MOST_REPLACED || one === lastHeld)
}

/**
 * For how long a confirmation that gets no answer is repeated. After that the fare waits for its next check by the
 * schedule.
 */
const CONFIRM_TIMEOUT_MS = 10 * 60_000
/**
 * The first repetition comes soon, the next ones after as long as the confirmation has waited by then, up to a
 * minute.
 */
const [FIRST_REPEAT_MS, MOST_REPEAT_MS] = [5_000, 60_000]

/** What follows an answer that says nothing, or that was dropped. */
export function followUnknown(
  { candidate, held, holds, belief, lastFlights }: FareState,
  { at, past }: Pick<Reading, 'at' | 'past'>,
  rules: DecisionRules,
): FollowUp {
  const atMs = Date.parse(at)
  const holdEnds = endOfHold(held && holds[held], rules)
  if (holdEnds !== null && holdEnds.getTime() > atMs) return { confirmAt: holdEnds }
  const gapMs = candidate && CONFIRMATIONS[candidate.contradiction].usual.gapSeconds * 1_000
  const dueMs = holdEnds?.getTime() ?? Date.parse(candidate?.countedAt ?? '') + (gapMs ?? 0)
  if (atMs - dueMs < CONFIRM_TIMEOUT_MS) {
    const repeatMs = Math.min(MOST_REPEAT_MS, Math.max(FIRST_REPEAT_MS, atMs - dueMs))
    return { confirmAt: new Date(Math.max(dueMs, atMs + repeatMs)) }
  }
  // A fare that was never seen otherwise. One with a known flight is asked as before: the answer is wrong for a time.
  const flights = [...legsOf(belief).map(({ flight }) => flight), ...Object.values(lastFlights)]
  const isKnown = flights.some((flight) => flight !== null)
  return past && !isKnown ? 'hourly' : 'retry'
}

function decisionOf(
  state: FareState,
  { outcome, past }: Reading,
  { good, next }: Pick<Decision, 'good' | 'next'>,
): Decision {
  return { state, changes: [], next, outcome, good, past }
}

/** What an answer shows of one leg for the guard of masses. */
export interface AskedLeg {
  readonly leg: 'outbound' | 'return'
  /** Whether the leg was believed available: then it can be lost or change, else it can be gained. */
  readonly isAvailable: boolean
  /** The kind of change that the answer would make; null where it shows what is believed. */
  readonly shows: HeldKind | null
}

/**
 * The legs of a fare that an answer shows. A leg of which nothing was believed counts for no mass. A return to what
 * was believed before a held record shows no change.
 */
export function askedLegs(state: FareState, answer: Answer): AskedLeg[] {
  const reading = readingOf(state, answer)
  const isReturn = returnsToBeforeHold(state, reading)
  return guardedLegsOf(state.belief, reading.view).flatMap(({ believed, shown, shows }, at) => {
    if (shown === 'unknown' || believed === 'unknown') return []
    const leg = at === 0 ? 'outbound' : 'return'
    const kind = shows === null || isReturn ? null : HELD_KIND[shows]
    return [{ leg, isAvailable: believed === 'available', shows: kind }]
  })
}
