/** What an incident is judged by: counts of the last minutes. */
export interface LossCounts {
  /** Fares that are believed bookable now. */
  readonly bookable: number
  /** Fares that were lost within the last five minutes, or would be by the batch at hand. */
  readonly lost: number
}

export interface CheckCounts {
  /** Checks of the last minute, and those of them that told nothing. */
  readonly checks: number
  readonly unknown: number
}

const MASS_LOSS_SHARE = 0.3
const MASS_LOSS_MINIMUM = 20
const TROUBLE_SHARE = 0.5
const TROUBLE_MINIMUM = 20

/**
 * Whether so many fares sell out at once that the answers are more likely wrong than the fares gone: a credential
 * of the wrong scope, a provider that is down.
 */
export function isMassLoss({ bookable, lost }: LossCounts): boolean {
  return lost >= MASS_LOSS_MINIMUM && lost > MASS_LOSS_SHARE * (bookable + lost)
}

/** Whether the upstream tells us so little that asking at full rate only adds to its trouble. */
export function isUpstreamTrouble({ checks, unknown }: CheckCounts): boolean {
  return checks >= TROUBLE_MINIMUM && unknown > TROUBLE_SHARE * checks
}
