import type { RecheckRules } from '../../recheck/recheck-rules.ts'
import { CONFIRM_AFTER_SECONDS, RETRY_AFTER_SECONDS } from '../../recheck/recheck-rules.ts'
import type { Watch } from '../../watch/watch-queries.ts'
import {
  type FareState,
  type FareView,
  fromJson,
  initialState,
  isDoubted,
  viewOf,
} from '../decide/fare-state.ts'
import { currentSeconds } from './staleness.ts'

/**
 * Where a watch stands. `new`: nothing was found out since it began. `followed`: what is believed is current. `stale`: the last
 * good check is too old to believe it. `expired`: it has departed, or was never available for long. `paused`: by its
 * reseller, or with it.
 */
export type WatchStatus = 'new' | 'followed' | 'stale' | 'expired' | 'paused'

/** What a watch may be told of its fare: of other watches it tells nothing. */
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
  /** Whether it has had its first look: of what is known, it is told nothing before. */
  readonly hasLooked: boolean
  /** What it has learned until then, as `toJson` wrote it; null before its first answer, and after. */
  readonly ownState: object | null
  readonly lane: string | null
  readonly resellerDisabled: boolean
  /** How long a turn of everybody takes at the budget. */
  readonly turnSeconds: number
  readonly now: Date
}

export interface WatchView {
  readonly status: WatchStatus
  readonly belief: FareView
  /** Of the checks since the watch began. */
  readonly lastGoodCheckAt: Date | null
  readonly lastCheckAt: Date | null
  /** Why the last of them told nothing; null where it did. */
  readonly lastReason: string | null
  /** Null: it is not checked. */
  readonly next: NextCheck | null
}

/** The next check as the watch by itself has it coming: not before then, and why. */
export interface NextCheck {
  readonly notBefore: Date
  readonly why: 'first_look' | 'confirmation' | 'retry' | 'turn'
}

type WatchRules = Pick<RecheckRules, 'minRecheckSeconds'>

/**
 * What a watch shows of its fare: what was learned since it began, and nothing before, for that somebody else learned.
 *
 * The fare, its checks and its beliefs are shared by all that ask the question; what is shown follows from the checks
 * since the watch's own beginning and from its own settings alone. Neither who else watches the fare, nor how often
 * they want it asked, nor where it stands in the queue goes into any of it.
 */
export function viewOfWatch(
  watch: Pick<Watch, 'beganAt' | 'pausedAt' | 'entry'>,
  facts: WatchFacts,
  rules: WatchRules,
): WatchView {
  const hasReturn = watch.entry.question.returnFlightId !== null
  const unseen = viewOf(initialState(hasReturn))
  const nothing = { lastGoodCheckAt: null, lastCheckAt: null, lastReason: null, next: null }
  // Others may go on asking while it is paused: it is told nothing.
  if (watch.pausedAt !== null || facts.resellerDisabled) {
    return { status: 'paused', belief: unseen, ...nothing }
  }
  // Its fare may go on for others: what it was told last stands in its feed and its timeline.
  if (facts.endedAt !== null) {
    return { status: 'expired', belief: { ...unseen, pair: 'not_bookable' }, ...nothing }
  }
  const since = (instant: Date | null) =>
    instant !== null && instant >= watch.beganAt ? instant : null
  const lastGoodCheckAt = since(facts.lastGoodCheckAt)
  const lastCheckAt = since(facts.askedAt)
  const state = stateOf(facts.hasLooked ? facts.state : facts.ownState)
  const view = state === null ? unseen : viewOf(state)
  const stale = isStale(watch, facts, lastGoodCheckAt ?? watch.beganAt)
  return {
    status: stale ? 'stale' : isSeen(view) ? 'followed' : 'new',
    belief: stale ? disbelieved(view) : view,
    lastGoodCheckAt,
    lastCheckAt,
    lastReason: lastCheckAt === null ? null : facts.lastReason,
    next: nextCheck(watch, { ...facts, lane: ownLane(state, facts) }, rules),
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
  { turnSeconds, now }: WatchFacts,
  last: Date,
): boolean {
  const { minIntervalSeconds } = entry
  const seconds = currentSeconds({ minIntervalSeconds, turnSeconds })
  return now.getTime() - last.getTime() > seconds * 1000
}

/** The belief itself stays; it is too old to be told as one. */
function disbelieved({ outbound, return: back }: FareView): FareView {
  const unsure = { belief: 'unknown', price: null } as const
  return {
    pair: 'unknown',
    outbound: { ...outbound, ...unsure },
    return: back && { ...back, ...unsure },
    price: null,
  }
}

/** A second look that another watch waits for, which began later, is none of this one. */
function ownLane(state: FareState | null, { lane, lastReason }: WatchFacts): string | null {
  if (lane !== 'confirmation' || (state !== null && isDoubted(state))) return lane
  return lastReason === null ? null : 'retry'
}

/**
 * Of the lanes only those that follow from the fare's own answers; of intervals only the watch's own. What the queue
 * makes of it depends on everybody's fares: it may come later, and sooner where another watch asks for it.
 */
function nextCheck(
  { beganAt, entry }: Pick<Watch, 'beganAt' | 'entry'>,
  { askedAt, lane }: Pick<WatchFacts, 'askedAt' | 'lane'>,
  { minRecheckSeconds }: WatchRules,
): NextCheck {
  if (askedAt === null || askedAt < beganAt) return { notBefore: beganAt, why: 'first_look' }
  const after = (seconds: number) => new Date(askedAt.getTime() + seconds * 1000)
  if (lane === 'confirmation') return { notBefore: after(CONFIRM_AFTER_SECONDS), why: lane }
  if (lane === 'retry') return { notBefore: after(RETRY_AFTER_SECONDS), why: lane }
  const seconds = Math.max(minRecheckSeconds, entry.minIntervalSeconds ?? 0)
  return { notBefore: after(seconds), why: 'turn' }
}
