/** What an incident is judged by: counts of the last minutes. */
export interface LossCounts {
  /** Fares whose last answer, within the last five minutes, bore out that they are bookable. */
  readonly bookable: number
  /** Fares that were lost within that time, would be by the batch at hand, or wait for a second such answer. */
  readonly lost: number
}

export interface CheckCounts {
  /** Recent checks, and those of them that told nothing for a reason that may lie with the upstream. */
  readonly checks: number
  readonly unknown: number
}

const MASS_LOSS_SHARE = 0.3
const MASS_LOSS_MINIMUM = 20
const TROUBLE_SHARE = 0.5
const TROUBLE_MINIMUM = 20
/** So few answers say that trouble is over: while it lasts a tenth of the budget is spent, which may be one in a minute. */
export const TROUBLE_OVER_MINIMUM = 5

/**
 * Whether so many fares sell out at once that the answers are more likely wrong than the fares gone: a credential
 * of the wrong scope, a provider that is down.
 *
 * The share is of the fares that were asked lately: of all, most of which are asked less often than every five
 * minutes where there are many, a third would have to be believed gone before the rest was saved.
 */
export function isMassLoss({ bookable, lost }: LossCounts): boolean {
  return lost >= MASS_LOSS_MINIMUM && lost > MASS_LOSS_SHARE * (bookable + lost)
}

/** Whether a mass loss has ended: by answers, and enough of them, for an upstream that is silent says nothing. */
export function isOver(counts: LossCounts & { readonly waiting: number }): boolean {
  if (isMassLoss(counts)) return false
  return counts.waiting < MASS_LOSS_MINIMUM || counts.bookable + counts.lost >= MASS_LOSS_MINIMUM
}

/** Whether a mass loss that is known to be true has been recorded: what is lost next is judged anew. */
export function isThrough(counts: LossCounts & { readonly waiting: number }): boolean {
  return !isMassLoss(counts) && counts.waiting < MASS_LOSS_MINIMUM
}

/** Whether the upstream tells us so little that asking at full rate only adds to its trouble. */
export function isUpstreamTrouble({ checks, unknown }: CheckCounts): boolean {
  return checks >= TROUBLE_MINIMUM && unknown > TROUBLE_SHARE * checks
}

/** Whether upstream trouble has ended: by answers, and enough of them, for that few were asked says nothing. */
export function isTroubleOver({ checks, unknown }: CheckCounts): boolean {
  return checks >= TROUBLE_OVER_MINIMUM && unknown <= TROUBLE_SHARE * checks
}
