import type { IncidentKind } from '../../base/kinds.ts'
/** A time in which losses are held: more fares are lost at once than sell out, or most checks are unknown. */
export interface Incident {
  readonly id: number
  readonly kind: IncidentKind
  readonly openedAt: Date
  /** Null while it is open. */
  readonly closedAt: Date | null
}

/** What decides whether there is a mass loss. */
export interface LossCounts {
  /** Fares that a good check of the last five minutes confirmed to be bookable. */
  readonly bookable: number
  /** Fares that were lost in the last five minutes, plus those of `waiting` that were checked in that time. */
  readonly lost: number
  /** Bookable fares whose last answer was "unavailable", however long ago: unconfirmed losses and held ones. */
  readonly waiting: number
}

/** What decides whether there is upstream trouble. */
export interface CheckCounts {
  readonly checks: number
  /** Those of the checks that were unknown for a reason that may lie with the upstream. */
  readonly unknown: number
}

const MASS_LOSS_SHARE = 0.3
const MASS_LOSS_MINIMUM = 20
const TROUBLE_SHARE = 0.5
const TROUBLE_MINIMUM = 20
/** Few checks decide that trouble is over: it cuts the rate to a tenth of the budget, maybe to one check a minute. */
export const TROUBLE_OVER_MINIMUM = 5

/**
 * Whether so many fares are lost at once that the answers are more likely wrong than true: a credential with the wrong
 * scope, or a provider that is down.
 *
 * The share is of the recently checked fares. Large watch lists are checked less often than every five minutes, and a
 * share of all fares would let a third of them be lost before the others were saved.
 */
export function isMassLoss({ bookable, lost }: Omit<LossCounts, 'waiting'>): boolean {
  return lost >= MASS_LOSS_MINIMUM && lost > MASS_LOSS_SHARE * (bookable + lost)
}

/** Whether a mass loss is over. While losses wait, that takes enough recent answers: no answers prove nothing. */
export function isMassLossOver(counts: LossCounts): boolean {
  if (isMassLoss(counts)) return false
  return counts.waiting < MASS_LOSS_MINIMUM || counts.bookable + counts.lost >= MASS_LOSS_MINIMUM
}

/** Whether all of an accepted mass loss is recorded, so that the next mass of losses opens an incident again. */
export function isMassLossRecorded(counts: LossCounts): boolean {
  return !isMassLoss(counts) && counts.waiting < MASS_LOSS_MINIMUM
}

/** Whether so many checks are unknown that checking at the full rate would only add to the upstream's trouble. */
export function isUpstreamTrouble({ checks, unknown }: CheckCounts): boolean {
  return checks >= TROUBLE_MINIMUM && unknown > TROUBLE_SHARE * checks
}

/** Whether upstream trouble is over. It takes enough checks: too few prove nothing. */
export function isTroubleOver({ checks, unknown }: CheckCounts): boolean {
  return checks >= TROUBLE_OVER_MINIMUM && unknown <= TROUBLE_SHARE * checks
}
