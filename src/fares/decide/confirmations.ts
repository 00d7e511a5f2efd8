import { agreementOf, hasPrices, isSame, isSameFlight, samePrices } from './compare-readings.ts'
import {
  type Candidate,
  type Contradiction,
  type FareState,
  type FareView,
  filledUp,
  HELD_KIND,
  legsOf,
  UNDO_MS,
} from './fare-state.ts'
import { isPartOfMass, type MassContext } from './mass.ts'
import type { Reading } from './reading.ts'

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
  readonly setting?: 'LOSS_CONFIRMATIONS' | 'GAIN_CONFIRMATIONS'
  /** Readings less than this apart count once: they may show the same fault, or the same cached answer. */
  readonly gapSeconds: number
}

const SETTINGS = { loss: 'LOSS_CONFIRMATIONS', gain: 'GAIN_CONFIRMATIONS' } as const

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
  const isUndo = circumstance === 'undo'
  const gapSeconds = isUndo ? 30 : 20
  if (contradiction === 'loss' || (contradiction === 'gain' && circumstance !== 'first')) {
    return { answers: isUndo ? 3 : 1, setting: SETTINGS[contradiction], gapSeconds }
  }
  const isOnce = contradiction === 'gain' || (contradiction === 'near_price' && !isUndo)
  return isOnce ? { answers: 1, gapSeconds: 0 } : { answers: isUndo ? 3 : 2, gapSeconds }
}

/**
 * So many contradictions in a row that differ in their amounts alone are confirmed: the price jumps with every
 * answer.
 */
const JUMPS = 3

/** The numbers that operators set. */
export interface DecisionRules {
  readonly lossConfirmations: number
  readonly gainConfirmations: number
  /** The time that the answers must span which confirm a change that is part of a mass. */
  readonly massHoldMs: number
}

/** An answer, and what decides about it. */
export interface Deciding {
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
  /** Whether it took the place of another one of its kind. */
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
  const isShown = candidate.answers >= answers || candidate.atAnyPrice >= Math.max(JUMPS, answers)
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
  const one = { contradiction, view, answers: 1, atAnyPrice: 1, countedAt: at }
  if (last === null || HELD_KIND[last.contradiction] !== HELD_KIND[contradiction]) {
    const candidate: Candidate = { ...one, since: at, heldSince: null, heldUntil: null }
    return { candidate, counts: true, isReplacement: false }
  }
  if (Date.parse(at) - Date.parse(last.countedAt) < gapMs) {
    return { candidate: last, counts: false, isReplacement: false }
  }
  const views = { belief, candidate: last.view, reading: view }
  const { same, atAnyPrice } = agreementOf(contradiction, views)
  const candidate: Candidate = {
    ...last,
    ...one,
    answers: same ? last.answers + 1 : 1,
    atAnyPrice: atAnyPrice ? last.atAnyPrice + 1 : 1,
  }
  return { candidate, counts: true, isReplacement: !atAnyPrice && contradiction !== 'loss' }
}

/**
 * A candidate that a mass has counted waits for `massHoldMs` from then on, whether or not the mass goes on: what it had
 * shown before may have been something else. What began before an operator's release does not wait.
 */
function held(
  candidate: Candidate,
  state: FareState,
  { reading, rules, context }: Deciding,
): Candidate {
  const kind = HELD_KIND[candidate.contradiction]
  const isReleased = Date.parse(candidate.since) <= (context.releasedAt.get(kind)?.getTime() ?? 0)
  const isCounted = !isReleased && isPartOfMass(state, { kind, reading, masses: context.masses })
  const heldSince = candidate.heldSince ?? (isCounted ? reading.at : null)
  if (heldSince === null || isReleased) return { ...candidate, heldSince, heldUntil: null }
  const end = new Date(Date.parse(heldSince) + rules.massHoldMs)
  const waits = Date.parse(reading.at) < end.getTime()
  return { ...candidate, heldSince, heldUntil: waits ? end.toISOString() : null }
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
  const isPrice = HELD_KIND[contradiction] === 'price_changed'
  const whole = filledUp(view, belief)
  return replaced.some(
    (one) =>
      Date.parse(at) - Date.parse(one.at) < UNDO_MS &&
      (hasPrices(one.view) ? isSame(one.view, whole) : isSameFlight(one.view, whole)) &&
      (!isPrice || samePrices(one.view, whole)),
  )
}
