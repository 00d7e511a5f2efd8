import type { HeldKind } from '../../platform/base/kinds.ts'

/**
 * How a complete reading contradicts the belief. The first that applies counts, so a flight that changes its identity
 * with every answer delays no loss. A price is `far` unless it has the same currency and differs by at most half.
 */
export const CONTRADICTIONS = [
  'loss',
  'gain',
  'identity',
  'itinerary',
  'far_price',
  'near_price',
] as const
export type Contradiction = (typeof CONTRADICTIONS)[number]

/**
 * What else decides how often a contradiction must be read.
 * - `first`: nothing was believed of the legs that it concerns, or their records were reverted.
 * - `usual`: none of the others applies.
 * - `crowded`: five flights or more have an unconfirmed gain.
 * - `undo`: it shows what a record of the last ten minutes has replaced.
 * - `released`: it was held, its hold has ended, and it is still so.
 */
export const CIRCUMSTANCES = ['first', 'usual', 'crowded', 'undo', 'released'] as const
export type Circumstance = (typeof CIRCUMSTANCES)[number]

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
 * mass of false gains is seen before it is recorded. Two replicas of the upstream of different age answer in turn with the
 * old and the new state: three answers 30 s apart outlast an age of up to a minute.
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

/** So many contradictions in a row that differ in their amounts alone are confirmed: the price jumps with every answer. */
export const JUMPS = 3
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
export function confirmationOf(
  contradiction: Contradiction,
  circumstance: Circumstance,
  { lossConfirmations, gainConfirmations }: DecisionRules,
): { readonly answers: number; readonly gapMs: number } {
  const { answers, setting, gapSeconds } = CONFIRMATIONS[contradiction][circumstance]
  const least = { LOSS_CONFIRMATIONS: lossConfirmations, GAIN_CONFIRMATIONS: gainConfirmations }
  const needed = setting === undefined ? answers : Math.max(answers, least[setting])
  return { answers: needed, gapMs: gapSeconds * 1000 }
}

/** The kind of the change that a mass of such contradictions holds. */
export const HELD_KIND: Readonly<Record<Contradiction, HeldKind>> = {
  loss: 'became_unavailable',
  gain: 'became_available',
  identity: 'identity_changed',
  itinerary: 'itinerary_changed',
  far_price: 'price_changed',
  near_price: 'price_changed',
}
