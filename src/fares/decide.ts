import {
  CONTRADICTED,
  type Contradiction,
  hasPrices,
  isSameFlight,
  isSameLeg,
  legContradiction,
  type Needed,
  samePrices,
} from '../platform/base/change-kinds.ts'
import type { FollowUp } from '../platform/base/kinds.ts'
import {
  type Answer,
  agreementOf,
  areWithin,
  changesOf,
  contradictionOf,
  type FareChange,
  isComplete,
  isSame,
  LEFT_OUT,
  type LegOutcome,
  type LegPair,
  pairsOf,
  type Reading,
  readingOf,
} from './answer.ts'
import { isHeldReturn, isPartOfMass, type MassContext } from './mass.ts'
import {
  type Candidate,
  comparedView,
  completed,
  type FareState,
  type FareView,
  filledUp,
  isRecent,
  type LegView,
  legOf,
  legsOf,
  mapLegs,
  type Silence,
  UNDO_MS,
  withoutPrice,
} from './state.ts'

/**
 * What else decides how often a contradiction must be read.
 * - `first`: nothing was believed of the legs that it concerns.
 * - `usual`: neither of the others applies.
 * - `undo`: it shows what a record of the last ten minutes has replaced.
 */
export const CIRCUMSTANCES = ['first', 'usual', 'undo'] as const
type Circumstance = (typeof CIRCUMSTANCES)[number]

/** The number of readings that confirm a contradiction, and the number of a setting, if that is larger. */
export interface Confirmation {
  readonly answers: number
  readonly setting?: NonNullable<Needed['setting']>
  /** Readings less than this apart count once: they may show the same fault, or the same cached answer. */
  readonly gapSeconds: number
}

/**
 * How many answers confirm a contradiction, over what time. The reference page of availability states prints it.
 *
 * Two answers of one cache or one outage agree, so they must be 20 s apart. Two replicas of the upstream of different
 * age answer in turn with the old and the new state: three answers 30 s apart outlast an age of up to a minute.
 */
export function confirmationOf(
  contradiction: Contradiction,
  circumstance: Circumstance,
): Confirmation {
  const { answers, setting, onceAtFirst } = CONTRADICTED[contradiction].needed
  const raised = setting === undefined ? {} : { setting }
  if (circumstance === 'undo') return { answers: 3, ...raised, gapSeconds: 30 }
  if (circumstance === 'first' && onceAtFirst) return { answers: 1, gapSeconds: 0 }
  const isOnce = answers === 1 && setting === undefined
  return { answers, ...raised, gapSeconds: isOnce ? 0 : 20 }
}

/**
 * So many contradictions in a row that differ in their amounts, itineraries and sites alone are confirmed: they jump
 * with every answer.
 */
const JUMPS = 3
/** So often may a candidate take the place of one of another kind, and be asked for early. */
const MOST_DISPLACED = 2

/** The numbers that operators set. */
export interface DecisionRules {
  readonly lossConfirmations: number
  readonly gainConfirmations: number
  /** The time that the answers must span which confirm a change that is part of a mass. */
  readonly massHoldMs: number
}

/** An answer, and what decides about it. */
interface Deciding {
  readonly reading: Reading
  readonly rules: DecisionRules
  readonly context: MassContext
}

/** A contradiction with those before it. */
export interface Counted {
  readonly candidate: Candidate
  /** Whether enough answers show it, over a time that is long enough. */
  readonly isConfirmed: boolean
  /** When its next answer counts. */
  readonly countsFrom: Date
  /** Whether it took the place of another one: of its kind, or the third time. */
  readonly isReplacement: boolean
}

/**
 * Counts a contradiction with those before it. A mass raises the time that its answers must span, and nothing else.
 * Prices near and far are one candidate: the last answer says which it is.
 */
export function countContradiction(
  state: FareState,
  contradiction: Contradiction,
  deciding: Deciding,
): Counted {
  const circumstance = circumstanceOf(state, contradiction, deciding.reading)
  const { answers, gapMs } = neededOf(contradiction, circumstance, deciding.rules)
  const next = nextCandidate(state, contradiction, { ...deciding.reading, gapMs })
  const candidate = held(next.candidate, state, deciding)
  const isShown = candidate.answers >= answers || candidate.alike >= Math.max(JUMPS, answers)
  return {
    candidate,
    isConfirmed: next.counts && isShown && candidate.heldUntil === null,
    countsFrom: new Date(Date.parse(candidate.countedAt) + gapMs),
    isReplacement: next.isReplacement,
  }
}

/** The answers that a contradiction needs, and the gap between them in milliseconds. */
function neededOf(
  contradiction: Contradiction,
  circumstance: Circumstance,
  { lossConfirmations, gainConfirmations }: DecisionRules,
) {
  const { answers, setting, gapSeconds } = confirmationOf(contradiction, circumstance)
  const least = { LOSS_CONFIRMATIONS: lossConfirmations, GAIN_CONFIRMATIONS: gainConfirmations }
  const needed = setting === undefined ? answers : Math.max(answers, least[setting])
  return { answers: needed, gapMs: gapSeconds * 1000 }
}

/** The candidate after an answer. One that comes less than the gap after the last counted one does not count. */
function nextCandidate(
  { belief, candidate: last }: FareState,
  contradiction: Contradiction,
  { view, at, gapMs }: { readonly view: FareView; readonly at: string; readonly gapMs: number },
) {
  const one = { contradiction, view, answers: 1, alike: 1, countedAt: at }
  if (last === null || CONTRADICTED[last.contradiction].kind !== CONTRADICTED[contradiction].kind) {
    const displaced = last === null ? 0 : (last.displaced ?? 0) + 1
    const candidate: Candidate = { ...one, since: at, heldSince: null, heldUntil: null, displaced }
    return { candidate, counts: true, isReplacement: displaced > MOST_DISPLACED }
  }
  if (Date.parse(at) - Date.parse(last.countedAt) < gapMs) {
    return { candidate: last, counts: false, isReplacement: false }
  }
  const views = { belief, candidate: last.view, reading: view }
  const { same, alike } = agreementOf(contradiction, views)
  const candidate: Candidate = {
    ...last,
    ...one,
    answers: same ? last.answers + 1 : 1,
    alike: alike ? last.alike + 1 : 1,
  }
  return { candidate, counts: true, isReplacement: !alike && contradiction !== 'loss' }
}

/** One answer in ten may be unusable, so one alone interrupts no hold. */
const INTERRUPTION = 2

/**
 * A candidate that a mass has counted waits for `massHoldMs` from then on, whether or not the mass goes on: what it had
 * shown before may have been something else. The time counts only while answers show the change: a lie before an outage
 * and one after it are no ten minutes. What began before an operator's release does not wait,
 * nor does a return to what a held record has replaced.
 */
function held(
  candidate: Candidate,
  state: FareState,
  { reading, rules, context }: Deciding,
): Candidate {
  const kind = CONTRADICTED[candidate.contradiction].kind
  const isReleased = Date.parse(candidate.since) <= (context.releasedAt.get(kind)?.getTime() ?? 0)
  const isCounted = !isReleased && isPartOfMass(state, { kind, reading, masses: context.masses })
  const isInterrupted = candidate.heldUntil !== null && (candidate.unshown ?? 0) >= INTERRUPTION
  const heldSince = isInterrupted
    ? reading.at
    : (candidate.heldSince ?? (isCounted ? reading.at : null))
  const shown = { ...candidate, heldSince, unshown: 0 }
  const isExempt = isReleased || isHeldReturn(state, reading)
  if (heldSince === null || isExempt) return { ...shown, heldUntil: null }
  const end = new Date(Date.parse(heldSince) + rules.massHoldMs)
  const waits = Date.parse(reading.at) < end.getTime()
  return { ...shown, heldUntil: waits ? end.toISOString() : null }
}

/** After an answer that says nothing of what a candidate shows. */
function unshown(candidate: Candidate | null): Candidate | null {
  if (candidate === null || candidate.heldUntil === null) return candidate
  return { ...candidate, unshown: (candidate.unshown ?? 0) + 1 }
}

function circumstanceOf(
  state: FareState,
  contradiction: Contradiction,
  { view, at }: Reading,
): Circumstance {
  const believed = legsOf(state.belief)
  const moved = legsOf(view).flatMap(({ belief }, leg) => {
    const was = believed[leg]?.belief
    return was === undefined || belief === 'unknown' || belief === was ? [] : [was]
  })
  if (moved.length > 0 && moved.every((was) => was === 'unknown')) return 'first'
  return undoesRecord(state, contradiction, { view, at }) ? 'undo' : 'usual'
}

/**
 * Whether a reading would bring back what a record of the last ten minutes has replaced. A price returns only to
 * the same amount. Where no price was believed, any may come back.
 */
function undoesRecord(
  { belief, replaced }: FareState,
  contradiction: Contradiction,
  { view, at }: { readonly view: FareView; readonly at: string },
): boolean {
  const isPrice = CONTRADICTED[contradiction].kind === 'price_changed'
  const whole = filledUp(view, belief)
  return replaced.some(
    (one) =>
      Date.parse(at) - Date.parse(one.at) < UNDO_MS &&
      (hasPrices(one.view) ? isSame(one.view, whole) : isSameFlight(one.view, whole)) &&
      (!isPrice || samePrices(one.view, whole)),
  )
}

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
 * answers have shown the same for long enough. An answer that says nothing changes nothing, not
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

/** Availability, identity, itinerary and site agree; so does the price, or it is unreadable. */
function agree(state: FareState, reading: Reading): Decision {
  const { view, at, isOdd } = reading
  const { candidate } = state
  // An unreadable price, or a site that is not named, contradicts neither: it says nothing about the one that waits.
  const isSilent = candidate && contradictionOf(candidate.view, view, isOdd) === null
  const after = {
    ...state,
    belief: completed(state.belief, view),
    candidate: isSilent ? unshown(candidate) : null,
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
  const good = CONTRADICTED[candidate.contradiction].kind === 'price_changed'
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
 * The reading becomes the belief, as a whole. Only of a lost pair may a leg keep what is believed of it: where it is
 * unknown, or shows what is not confirmed.
 */
function adopt(state: FareState, { candidate }: Counted, deciding: Deciding): Decision {
  const { reading, context } = deciding
  const { at, isOdd } = reading
  const isOfPriceAlone = CONTRADICTED[candidate.contradiction].kind === 'price_changed'
  // A price that comes with another change waits if it is odd or unlike that of the answers before, until a second answer shows
  // it, and while prices are a mass. A price alone is confirmed by itself.
  const last = candidate.alike > 1 ? state.candidate : null
  const isSeenOnce = last === null ? isOdd : !areWithin(last.view, reading.view, 20n)
  const isUnconfirmed = isSeenOnce || context.masses.some(({ kind }) => kind === 'price_changed')
  const isDoubtful = !isOfPriceAlone && isUnconfirmed
  const confirmed =
    candidate.contradiction === 'loss' ? confirmedByLoss(state, deciding) : reading.view
  const whole = filledUp(confirmed, state.belief)
  const belief = isDoubtful ? withoutPrice(whole, 'unconfirmed') : whole
  const good = isComplete(confirmed)
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

/**
 * A loss is confirmed by the leg that is lost, so another flight of the other leg counts as unknown, unless the counted
 * answer before showed the same and no mass of such changes goes on.
 */
function confirmedByLoss(state: FareState, { reading, context }: Deciding): FareView {
  const last = state.candidate?.contradiction === 'loss' ? state.candidate.view : null
  const isConfirmed = (pair: LegPair) => {
    const contradiction = legContradiction(pair)
    if (contradiction === null || contradiction === 'loss') return true
    if (pair.was.belief === 'unknown') return true
    const before = last?.[pair.leg]
    const change = { kind: CONTRADICTED[contradiction].kind, reading, masses: context.masses }
    return !!before && isSameLeg(before, pair.is) && !isPartOfMass(state, change)
  }
  const confirmed = pairsOf(state.belief, reading.view).filter(isConfirmed)
  return mapLegs(reading.view, (leg) =>
    confirmed.some(({ is }) => is === leg) ? leg : legOf(LEFT_OUT),
  )
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
  const all = [{ view: comparedView(belief), at, held }, ...kept]
  const lastHeld = all.find((one) => one.held)
  return all.filter((one, rank) => rank < MOST_REPLACED || one === lastHeld)
}

/** A belief is not shown after so many unusable answers in a row, over so long, and over three usual intervals. */
const SILENT = { answers: 5, seconds: 120, intervals: 3 }
const MOST_PAUSE_SECONDS = 900
/** No more are counted: the column is a smallint. */
const MOST_SILENT_ANSWERS = 1_000

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
  const answers = Math.min(MOST_SILENT_ANSWERS, before.answers + 1)
  const seconds = (Date.parse(reading.at) - Date.parse(before.since)) / 1_000
  const isLong = seconds >= Math.max(SILENT.seconds, SILENT.intervals * intervalSeconds)
  const isShown = before.isShown || (answers >= SILENT.answers && isLong)
  const silence: Silence = { since: before.since, answers, isShown }
  const after = { ...state, candidate: unshown(state.candidate), silence }
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
