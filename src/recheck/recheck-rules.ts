/** How the budget is spent on checks. Rates are requests a second, times are seconds. */
export interface RecheckRules {
  readonly requestsPerSecond: number
  /** The shortest interval between two checks of a fare, unless its watches ask for a longer one. */
  readonly minRecheckSeconds: number
}

/** A claim that is not recorded by then goes back by itself: the upstream's deadline, twice, and some patience. */
export const LEASE_SECONDS = 60
/** A first loss is asked again after about this long. */
export const CONFIRM_AFTER_SECONDS = 20
export const RETRY_AFTER_SECONDS = 30
/** How far ahead the budget can be reserved, which bounds how much one claim can be. */
export const HORIZON_SECONDS = 5
/**
 * One claim, one job, one transaction: about this long, and no more fares than are read and written in some tens
 * of milliseconds.
 */
export const CLAIM_SECONDS = 1
export const CLAIM_FARES = 500
/** Shares of the budget that the lanes of first looks and of retries may take; all lanes together have 40 %. */
export const NEW_WATCH_SHARE = 0.2
export const RETRY_SHARE = 0.1
