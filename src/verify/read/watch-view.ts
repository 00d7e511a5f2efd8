import type { RecheckRules } from '../../recheck/recheck-rules.ts'
import { CONFIRM_AFTER_SECONDS, RETRY_AFTER_SECONDS } from '../../recheck/recheck-rules.ts'
import { freshSeconds } from '../../watch/staleness.ts'
import type { Watch } from '../../watch/watch-queries.ts'
import {
  type FareState,
  type FareView,
  fromJson,
  initialState,
  viewOf,
} from '../decide/fare-state.ts'

/**
 * Where a watch stands. `new`: nothing is believed of its fare yet. `followed`: the belief is fresh. `stale`: the last good
 * check is too old. `expired`: it has departed, or was never available for 30 days. `paused`: it is paused, or its
 * reseller is disabled.
 */
export type WatchStatus = 'new' | 'followed' | 'stale' | 'expired' | 'paused'

/** What a watch shows of its fare: nothing of other watches. */
export interface WatchFacts {
  readonly watchId: string
  /** As `toJson` wrote it; null before the first check. */
  readonly state: object | null
  /** When the request of the last counted answer began. */
  readonly askedAt: Date | null
  readonly lastGoodCheckAt: Date | null
  readonly lastReason: string | null
  /** The fare's end, or the watch's own; null while neither has come. */
  readonly endedAt: Date | null
  /** Whether its `watch_started` is written: until then an early check is due. */
  readonly hasStarted: boolean
  readonly lane: string | null
  readonly resellerDisabled: boolean
  /** How long one check of every fare takes at the budget. */
  readonly expectedIntervalSeconds: number
  readonly now: Date
}

export interface WatchView {
  readonly status: WatchStatus
  readonly belief: FareView
  readonly lastGoodCheckAt: Date | null
  readonly lastCheckAt: Date | null
  /** Why the last check was not good; null where it was. */
  readonly lastReason: string | null
  /** Null: it is not checked. */
  readonly next: NextCheck | null
}

/** The next check by the watch's own settings: not before then, and why. */
export interface NextCheck {
  readonly notBefore: Date
  readonly why: 'first_look' | 'confirmation' | 'retry' | 'turn'
}

type WatchRules = Pick<RecheckRules, 'minRecheckSeconds'>

/**
 * What a watch shows of its fare. The belief is shared by all watches of the fare, and a new watch shows it at once.
 *
 * What follows from a watch follows from its own settings alone: neither which other watches the fare has, nor their
 * intervals, nor its place in the schedule go into it.
 */
export function viewOfWatch(
  watch: Pick<Watch, 'beganAt' | 'pausedAt' | 'entry'>,
  facts: WatchFacts,
  rules: WatchRules,
): WatchView {
  const hasReturn = watch.entry.question.returnFlightId !== null
  const unseen = viewOf(initialState(hasReturn))
  const nothing = { lastGoodCheckAt: null, lastCheckAt: null, lastReason: null, next: null }
  // The fare may still be checked for other watches.
  if (watch.pausedAt !== null || facts.resellerDisabled) {
    return { status: 'paused', belief: unseen, ...nothing }
  }
  // The fare may go on for other watches.
  if (facts.endedAt !== null) {
    return { status: 'expired', belief: { ...unseen, pair: 'not_bookable' }, ...nothing }
  }
  const { lastGoodCheckAt, askedAt, lastReason } = facts
  const state = stateOf(facts.state)
  const view = state === null ? unseen : viewOf(state)
  const stale = isStale(watch, facts, lastGoodCheckAt ?? watch.beganAt)
  return {
    status: stale ? 'stale' : isSeen(view) ? 'followed' : 'new',
    belief: stale ? disbelieved(view) : view,
    lastGoodCheckAt,
    lastCheckAt: askedAt,
    lastReason,
    next: nextCheck(watch, facts, rules),
  }
}

function stateOf(state: object | null): FareState | null {
  return state === null || Object.keys(state).length === 0 ? null : fromJson(state)
}

function isSeen({ outbound, return: back }: FareView): boolean {
  return outbound.belief !== 'unknown' || (back !== null && back.belief !== 'unknown')
}

function isStale(
  { entry }: Pick<Watch, 'entry'>,
  { expectedIntervalSeconds, now }: WatchFacts,
  last: Date,
): boolean {
  const { minIntervalSeconds } = entry
  const seconds = freshSeconds({ minIntervalSeconds, expectedIntervalSeconds })
  return now.getTime() - last.getTime() > seconds * 1000
}

/** The belief itself stays; it is too old to be shown. */
function disbelieved({ outbound, return: back }: FareView): FareView {
  const unsure = { belief: 'unknown', price: null } as const
  return {
    pair: 'unknown',
    outbound: { ...outbound, ...unsure },
    return: back && { ...back, ...unsure },
    price: null,
  }
}

/**
 * Of intervals only the watch's own counts, and of lanes only one from a check since the watch began: whether an older one
 * outlasted a pause depends on other watches. The check may come later where the budget is short, and sooner where another
 * watch has a shorter interval.
 */
function nextCheck(
  { beganAt, entry }: Pick<Watch, 'beganAt' | 'entry'>,
  { askedAt, hasStarted, lane }: Pick<WatchFacts, 'askedAt' | 'hasStarted' | 'lane'>,
  { minRecheckSeconds }: WatchRules,
): NextCheck {
  const isOlder = askedAt === null || askedAt < beganAt
  if (askedAt === null || (isOlder && !hasStarted)) return { notBefore: beganAt, why: 'first_look' }
  const after = (seconds: number) => new Date(askedAt.getTime() + seconds * 1000)
  if (!isOlder && lane === 'confirmation') {
    return { notBefore: after(CONFIRM_AFTER_SECONDS), why: lane }
  }
  if (!isOlder && lane === 'retry') return { notBefore: after(RETRY_AFTER_SECONDS), why: lane }
  const seconds = Math.max(minRecheckSeconds, entry.minIntervalSeconds ?? 0)
  return { notBefore: after(seconds), why: 'turn' }
}
