/** How the budget is spent on checks. Rates are in requests a second, times in seconds. */
export interface ScheduleRules {
  readonly requestsPerSecond: number
  /** The shortest interval between two checks of a fare, unless its watches ask for a longer one. */
  readonly minRecheckSeconds: number
}

/** A claim whose results are not recorded by then ends: more than twice the timeout of a call to the upstream. */
export const LEASE_SECONDS = 60
export const RETRY_AFTER_SECONDS = 30
/**
 * The age of the last good check from which a belief may be stale: after six intervals, if that is longer. `fresh_for`
 * has the rule in SQL.
 */
export const STALE_SECONDS = 600
/** How far ahead slots of the budget can be reserved; this bounds the size of a claim. */
export const HORIZON_SECONDS = 5
/**
 * One claim is one job and one transaction: about a second of the budget, and no more fares than are read and
 * written in some tens of milliseconds.
 */
export const CLAIM_SECONDS = 1
export const CLAIM_FARES = 500
/** Shares of the budget for the lanes of new watches and of retries. All lanes together have 40 %. */
export const NEW_WATCH_SHARE = 0.2
export const RETRY_SHARE = 0.1

/** How many slots of the budget can be reserved at one moment. */
export function horizonCalls(requestsPerSecond: number): number {
  return Math.floor(requestsPerSecond * HORIZON_SECONDS) + 1
}
