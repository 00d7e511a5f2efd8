import type { HeldKind } from '../../platform/base/kinds.ts'
import {
  agreementOf,
  hasPrices,
  isLargePriceChange,
  isSame,
  isSameFlight,
  samePrices,
} from './compare-readings.ts'
import {
  type Candidate,
  type Contradiction,
  type FareState,
  filledUp,
  HELD_KIND,
  legsOf,
} from './fare-state.ts'
import type { Reading } from './reading.ts'

/**
 * What else decides how often a contradiction must be read.
 * - `first`: nothing was believed of the legs that it concerns.
 * - `usual`: none of the others applies.
 * - `crowded`: five flights or more have an unconfirmed gain.
 * - `undo`: it shows what a record of the last ten minutes has replaced.
 * - `released`: it was held, its hold has ended, and it is still so.
 */
export const CIRCUMSTANCES = ['first', 'usual', 'crowded', 'undo', 'released'] as const
type Circumstance = (typeof CIRCUMSTANCES)[number]

/** The number of readings that confirm a contradiction: a constant, or at least that of a setting. */
export interface Confirmation {
  readonly answers: number
  readonly setting?: 'LOSS_CONFIRMATIONS' | 'GAIN_CONFIRMATIONS'
  /** Readings less than this apart count once: they may show the same fault, or the same cached answer. */
  readonly gapSeconds: number
}

const ONE: Confirmation = { answers: 1, gapSeconds: 0 }
const TWO: Confirmation = { answers: 2, gapSeconds: 20 }
const THREE: Confirmation = { answers: 3, gapSeconds: 30 }
const LOSS: Confirmation = { answers: 1, setting: 'LOSS_CONFIRMATIONS', gapSeconds: 20 }
const GAIN: Confirmation = { answers: 1, setting: 'GAIN_CONFIRMATIONS', gapSeconds: 5 }
const LOSS_AGAIN: Confirmation = { ...LOSS, answers: 3, gapSeconds: 30 }
const GAIN_AGAIN: Confirmation = { ...GAIN, answers: 3, gapSeconds: 30 }

/**
 * The answers that confirm a contradiction. The reference page of availability states prints this table.
 *
 * A gain is confirmed soon, because a reopened fare sells fast; five at once are checked as slowly as a loss, so that a
 * mass of false gains is seen before it is recorded. Two replicas of the upstream of different age answer in turn
 * with the old and the new state: three answers 30 s apart outlast an age of up to a minute.
 */
export const CONFIRMATIONS: Readonly<
  Record<Contradiction, Readonly<Record<Circumstance, Confirmation>>>
> = {
  loss: { first: LOSS, usual: LOSS, crowded: LOSS, undo: LOSS_AGAIN, released: ONE },
  gain: {
    first: ONE,
    usual: GAIN,
    crowded: { ...GAIN, gapSeconds: 20 },
    undo: GAIN_AGAIN,
    released: ONE,
  },
  identity: { first: TWO, usual: TWO, crowded: TWO, undo: THREE, released: ONE },
  itinerary: { first: TWO, usual: TWO, crowded: TWO, undo: THREE, released: ONE },
  far_price: { first: TWO, usual: TWO, crowded: TWO, undo: THREE, released: ONE },
  near_price: { first: ONE, usual: ONE, crowded: ONE, undo: THREE, released: ONE },
}

/**
 * So many contradictions in a row that differ in their amounts alone are confirmed: the price jumps with every
 * answer.
 */
const JUMPS = 3
/** Gains of so many flights at once are confirmed as slowly as losses. */
export const CROWD = 5
/** A record is undone only after three answers for so long after it. */
export const UNDO_MS = 10 * 60_000

/** The numbers that operators set. */
export interface DecisionRules {
  readonly lossConfirmations: number
  readonly gainConfirmations: number
  /** How long a mass holds a change of one fare at most. */
  readonly massHoldMs: number
}

/** The answers that a contradiction needs, and the gap between them in milliseconds. */
function confirmationOf(
  contradiction: Contradiction,
  circumstance: Circumstance,
  { lossConfirmations, gainConfirmations }: DecisionRules,
): { readonly answers: number; readonly gapMs: number } {
  const { answers, setting, gapSeconds } = CONFIRMATIONS[contradiction][circumstance]
  const least = { LOSS_CONFIRMATIONS: lossConfirmations, GAIN_CONFIRMATIONS: gainConfirmations }
  const needed = setting === undefined ? answers : Math.max(answers, least[setting])
  return { answers: needed, gapMs: gapSeconds * 1000 }
}

/** What the answers of other fares say about this one. */
export interface MassContext {
  /** The kinds of changes of which there is a mass now: they begin to wait. */
  readonly masses: ReadonlySet<HeldKind>
  /** Whether so many flights have an unconfirmed gain that each is confirmed slowly. */
  readonly crowded: boolean
  /** When an operator released what waited then, by kind. */
  readonly releasedAt: ReadonlyMap<HeldKind, Date>
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
  /** Nothing was believed of the legs that it concerns. */
  readonly isFirst: boolean
  /** Whether enough answers show it. */
  readonly isConfirmed: boolean
  /** When its next answer counts. */
  readonly countsFrom: Date
  /** Whether the answer shows what the counted one before it showed. */
  readonly isStillSo: boolean
  /** Whether it took the place of another one of its kind. */
  readonly isReplacement: boolean
}

/**
 * Counts a contradiction with those before it. Prices near and far are one candidate: the last answer says which
 * it is.
 */
export function countContradiction(
  state: FareState,
  contradiction: Contradiction,
  { reading: { view, at }, rules, context }: Deciding,
): Counted {
  const circumstance = circumstanceOf(state, contradiction, { view, at, context })
  const { answers, gapMs } = confirmationOf(contradiction, circumstance, rules)
  const isFirst = circumstance === 'first'
  const counted = (candidate: Candidate, more: Partial<Counted> = {}): Counted => ({
    candidate,
    isFirst,
    isConfirmed: candidate.answers >= answers || candidate.atAnyPrice >= Math.max(JUMPS, answers),
    countsFrom: new Date(Date.parse(candidate.countedAt) + gapMs),
    isStillSo: false,
    isReplacement: false,
    ...more,
  })
  const one = { contradiction, view, answers: 1, atAnyPrice: 1, countedAt: at }
  const last = state.candidate
  if (last === null || HELD_KIND[last.contradiction] !== HELD_KIND[contradiction]) {
    return counted({ ...one, since: at })
  }
  const views = { belief: state.belief, candidate: last.view, reading: view }
  const { same, atAnyPrice } = agreementOf(contradiction, views)
  if (Date.parse(at) - Date.parse(last.countedAt) < gapMs) {
    return counted(last, { isStillSo: same, isConfirmed: false })
  }
  const candidate = {
    ...one,
    since: last.since,
    answers: same ? last.answers + 1 : 1,
    atAnyPrice: atAnyPrice ? last.atAnyPrice + 1 : 1,
  }
  const isReplacement = !atAnyPrice && contradiction !== 'loss'
  return counted(candidate, { isStillSo: same, isReplacement })
}

function circumstanceOf(
  state: FareState,
  contradiction: Contradiction,
  { view, at, context }: Pick<Reading, 'view' | 'at'> & { readonly context: MassContext },
): Circumstance {
  const believed = legsOf(state.belief)
  const moved = legsOf(view).flatMap(({ belief }, leg) => {
    const was = believed[leg]?.belief
    return was === undefined || belief === 'unknown' || belief === was ? [] : [was]
  })
  if (moved.length > 0 && moved.every((was) => was === 'unknown')) return 'first'
  if (undoesRecord(state, contradiction, { view, at })) return 'undo'
  return context.crowded ? 'crowded' : 'usual'
}

/**
 * Whether a reading would bring back what a record of the last ten minutes has replaced. A price returns only to
 * the same amount. Where no price was believed, any may come back.
 */
function undoesRecord(
  state: FareState,
  contradiction: Contradiction,
  { view, at }: Pick<Reading, 'view' | 'at'>,
): boolean {
  const isPrice = HELD_KIND[contradiction] === 'price_changed'
  const whole = filledUp(view, state.belief)
  return state.replaced.some(
    (one) =>
      Date.parse(at) - Date.parse(one.at) < UNDO_MS &&
      (hasPrices(one.view) ? isSame(one.view, whole) : isSameFlight(one.view, whole)) &&
      (!isPrice || samePrices(one.view, whole)),
  )
}

/** For so long after a held record a reading may return to what was believed before it. */
export const HELD_RETURN_MS = 24 * 3_600_000

/** Whether a reading shows what was believed before a record that was held: such a return waits for no mass. */
export function returnsToBeforeHold(
  { replaced }: FareState,
  { view, at }: Pick<Reading, 'view' | 'at'>,
): boolean {
  return replaced.some(
    (one) =>
      one.held && Date.parse(at) - Date.parse(one.at) < HELD_RETURN_MS && isSame(one.view, view),
  )
}

export interface Verdict {
  readonly isConfirmed: boolean
  /** Whether the mass alone keeps the change from being recorded now. */
  readonly isHeld: boolean
  readonly heldSince: string | null
}

/**
 * A mass holds each change for `massHoldMs`, also if the mass is over before that, or until an operator releases
 * it. Then one answer more confirms it, if it shows the same. Anything else may be one wrong answer: it is
 * confirmed as usual, and waits for no mass.
 */
export function judge(
  state: FareState,
  { candidate: { contradiction }, isFirst, isConfirmed, isStillSo }: Counted,
  { reading: { view, at }, rules, context }: Deciding,
): Verdict {
  const kind = HELD_KIND[contradiction]
  const isHoldable =
    (context.masses.has(kind) || state.holds[kind] !== undefined) &&
    !isFirst &&
    !returnsToBeforeHold(state, { view, at }) &&
    (kind !== 'price_changed' || !hasPrices(state.belief) || isLargePriceChange(state.belief, view))
  const heldSince =
    state.holds[kind] ?? (isHoldable ? afterRelease(at, context.releasedAt.get(kind)) : null)
  if (isReleased(state, kind, { askedAt: new Date(at), rules, ...context })) {
    return { isConfirmed: isConfirmed || isStillSo, isHeld: false, heldSince }
  }
  return { isConfirmed: isConfirmed && !isHoldable, isHeld: isHoldable, heldSince }
}

/** An operator has released what waited then: an answer that is older, and comes later, begins a hold after it. */
function afterRelease(at: string, releasedAt: Date | undefined): string {
  if (releasedAt === undefined || at > releasedAt.toISOString()) return at
  return new Date(releasedAt.getTime() + 1).toISOString()
}

/** Whether the hold of a change has ended: after `massHoldMs`, or because an operator has released what waited then. */
export function isReleased(
  { holds }: FareState,
  kind: HeldKind,
  {
    askedAt,
    rules,
    releasedAt,
  }: { readonly askedAt: Date; readonly rules: DecisionRules } & Pick<MassContext, 'releasedAt'>,
): boolean {
  const since = Date.parse(holds[kind] ?? '')
  return (
    askedAt.getTime() - since >= rules.massHoldMs || since <= (releasedAt.get(kind)?.getTime() ?? 0)
  )
}
