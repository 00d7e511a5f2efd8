import {
  changesOf,
  contradictionOf,
  type FareChange,
  hasPrices,
  isComplete,
} from './compare-readings.ts'
import {
  type Counted,
  confirmationOf,
  countContradiction,
  type Deciding,
  type DecisionRules,
} from './confirmations.ts'
import {
  type FareState,
  type FareView,
  filledUp,
  HELD_KIND,
  isRecent,
  type LegView,
  mapLegs,
  type Silence,
  withoutPrice,
} from './fare-state.ts'
import type { MassContext } from './mass.ts'
import { type Answer, type LegOutcome, type Reading, readingOf } from './reading.ts'

/**
 * What follows the check: the next one by the schedule, a confirmation at an instant, one early retry, or the next one
 * after a pause.
 */
export type FollowUp =
  | 'normal'
  | 'retry'
  | { readonly confirmAt: Date }
  | { readonly pauseSeconds: number }

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
 * confirms, and what follows the check. Pure and total; docs/reference/truth.md has its rules,
 * availability-states.md its cases.
 *
 * The belief is one reading, adopted whole. A reading that contradicts it becomes the candidate, until enough
 * answers have shown the same for long enough (confirmations.ts). An answer that says nothing changes nothing, not
 * even a count.
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
    return isComplete(reading.view) ? agree(state, reading) : remainSilent(state, reading, answer)
  }
  const deciding = { reading, rules, context }
  const counted = countContradiction({ ...state, silence: null }, contradiction, deciding)
  return counted.isConfirmed ? adopt(state, counted, deciding) : wait(state, counted, reading)
}

/** Availability, identity and itinerary agree; so does the price, or it is unreadable. */
function agree(state: FareState, reading: Reading): Decision {
  const { view, at } = reading
  const isPriced = view.pair !== 'bookable' || hasPrices(view)
  // An unreadable price says nothing about the price that waits.
  const isOfPrice = state.candidate && HELD_KIND[state.candidate.contradiction] === 'price_changed'
  const after = {
    ...state,
    candidate: isPriced || !isOfPrice ? null : state.candidate,
    ...priceOr(state, view, at),
    silence: null,
    lastGoodCheckAt: at,
  }
  return decisionOf(after, reading, { good: true, next: 'normal' })
}

/** An answer that agrees, but shows no price, leaves the believed one. */
function priceOr({ pricedAt }: FareState, view: FareView, at: string) {
  const priced = pricedBy(view, at)
  return view.pair === 'bookable' ? { ...priced, pricedAt: priced.pricedAt ?? pricedAt } : priced
}

/** When the belief's price was shown. A bookable pair with legs in several currencies has no sum. */
function pricedBy(view: FareView, at: string) {
  const isPriced = view.pair === 'bookable' && hasPrices(view)
  return { pricedAt: isPriced ? at : null, priceReason: view.priceReason ?? null }
}

/** The contradiction is not believed yet. One of the price alone leaves the rest of the belief confirmed. */
function wait(
  state: FareState,
  { candidate, countsFrom, isReplacement }: Counted,
  reading: Reading,
): Decision {
  const good = HELD_KIND[candidate.contradiction] === 'price_changed'
  const after: FareState = {
    ...state,
    candidate,
    silence: null,
    ...(good ? { lastGoodCheckAt: reading.at, priceReason: 'unconfirmed' as const } : {}),
  }
  const confirmAt = candidate.heldUntil === null ? countsFrom : new Date(candidate.heldUntil)
  // An upstream that shows another flight every time would otherwise be asked every 20 seconds for ever.
  const next = isReplacement ? 'normal' : { confirmAt }
  return decisionOf(after, reading, { good, next })
}

/**
 * The reading becomes the belief, as a whole. Only of a lost pair may a leg be unknown: it keeps what is believed
 * of it.
 */
function adopt(state: FareState, { candidate }: Counted, { reading, context }: Deciding): Decision {
  const { at, isOdd } = reading
  const isOfPriceAlone = HELD_KIND[candidate.contradiction] === 'price_changed'
  // A price that comes with another change waits if it is odd or unlike that of the answers before, until a second answer shows
  // it, and while prices are a mass. A price alone is confirmed by itself.
  const isSeenOnce = candidate.answers < 2 && (isOdd || candidate.atAnyPrice > 1)
  const isUnconfirmed = isSeenOnce || context.masses.some(({ kind }) => kind === 'price_changed')
  const isDoubtful = !isOfPriceAlone && isUnconfirmed
  const whole = filledUp(reading.view, state.belief)
  const belief = isDoubtful ? withoutPrice(whole, 'unconfirmed') : whole
  const good = isComplete(reading.view)
  const lastFlights = {
    outbound: lastFlight(belief.outbound, state.belief.outbound, state.lastFlights.outbound),
    return:
      belief.return && lastFlight(belief.return, state.belief.return, state.lastFlights.return),
  }
  const { since, heldSince } = candidate
  const after: FareState = {
    ...state,
    belief,
    lastFlights,
    candidate: null,
    replaced: replacedAfter(state, at, heldSince !== null),
    silence: null,
    lastGoodCheckAt: good ? at : state.lastGoodCheckAt,
    ...pricedBy(belief, at),
    everAvailableAt: state.everAvailableAt ?? (belief.pair === 'bookable' ? at : null),
  }
  const changes = changesOf(state, after, { since, at, heldSince })
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
  const kept = replaced.filter((one) => isRecent(one, at))
  if (!isComplete(belief)) return kept
  // The identity and the itinerary suffice to compare.
  const view = mapLegs(belief, (leg) => ({ ...leg, flight: null }))
  const all = [{ view, at, held }, ...kept]
  const lastHeld = all.find((one) => one.held)
  return all.filter((one, rank) => rank < MOST_REPLACED || one === lastHeld)
}

/** A belief is not shown after so many unusable answers in a row, over so long, and over three usual intervals. */
const SILENT = { answers: 5, seconds: 120, intervals: 3 }
const MOST_PAUSE_SECONDS = 900

/**
 * The answer says nothing: it neither confirms nor cancels. After some in a row the belief is not shown any more, and
 * the next check waits as long as the silence has lasted: the fare's own interval doubles, and it takes no checks from
 * the others.
 */
function remainSilent(
  state: FareState,
  reading: Reading,
  { intervalSeconds }: { readonly intervalSeconds: number },
): Decision {
  const before = state.silence ?? { since: reading.at, answers: 0, isShown: false }
  const answers = before.answers + 1
  const seconds = (Date.parse(reading.at) - Date.parse(before.since)) / 1_000
  const isLong = seconds >= Math.max(SILENT.seconds, SILENT.intervals * intervalSeconds)
  const isShown = before.isShown || (answers >= SILENT.answers && isLong)
  const silence: Silence = { since: before.since, answers, isShown }
  const after = { ...state, silence }
  const pauseSeconds = Math.min(MOST_PAUSE_SECONDS, seconds)
  const next = isShown ? { pauseSeconds } : followUnknown(after, reading.at)
  return decisionOf(after, reading, { good: false, next })
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
export function followUnknown({ candidate }: FareState, at: string): FollowUp {
  if (candidate === null) return 'retry'
  const atMs = Date.parse(at)
  const gapMs = confirmationOf(candidate.contradiction, 'usual').gapSeconds * 1_000
  const dueMs =
    Date.parse(candidate.heldUntil ?? candidate.countedAt) + (candidate.heldUntil ? 0 : gapMs)
  if (candidate.heldUntil !== null && dueMs > atMs) return { confirmAt: new Date(dueMs) }
  if (atMs - dueMs >= CONFIRM_TIMEOUT_MS) return 'retry'
  const repeatMs = Math.min(MOST_REPEAT_MS, Math.max(FIRST_REPEAT_MS, atMs - dueMs))
  return { confirmAt: new Date(Math.max(dueMs, atMs + repeatMs)) }
}

function decisionOf(
  state: FareState,
  { outcome, past }: Reading,
  { good, next }: { readonly good: boolean; readonly next: FollowUp },
): Decision {
  return { state, changes: [], next, outcome, good, past }
}
