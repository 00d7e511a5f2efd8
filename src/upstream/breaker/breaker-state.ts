/** The endpoints fall into two groups: a list may be refused, or fail, while verify goes on, and the other way. */
export type EndpointGroup = 'lists' | 'verify'
/** `auth`: our credential is refused. `errors`: nothing comes back, or server errors. */
export type BreakerName = 'auth' | 'errors'

export const ENDPOINT_GROUPS: readonly EndpointGroup[] = ['lists', 'verify']
export const BREAKERS: readonly BreakerName[] = ['auth', 'errors']

/** A breaker as its row holds it. Instants are milliseconds by the database's clock. */
export interface BreakerState {
  /** Null while it is closed. */
  readonly open: OpenBreaker | null
  /** When it last closed; null where it never was open. */
  readonly closedAtMs: number | null
  /** Openings and failed probes in a row: each doubles the time until the next probe. */
  readonly trips: number
  readonly failuresInARow: number
  /** When the last of them was told; null where none was. */
  readonly failedAtMs: number | null
  /** The calls of the last seconds; empty where nothing failed or the rule does not count them. */
  readonly window: readonly CallCount[]
}

export interface OpenBreaker {
  readonly sinceMs: number
  /** Of the credential that was in use. */
  readonly fingerprint: string
  readonly probeAtMs: number
  /** The one call that may go out, until its lease ends: a process that dies leaves the probe to another. */
  readonly probe: { readonly id: string; readonly untilMs: number } | null
}

/** Calls that ended in one second. */
export interface CallCount {
  readonly second: number
  readonly calls: number
  readonly failed: number
}

/** The same, apart by the second in which they were made: one that hangs ends long after. */
export interface MadeCount extends CallCount {
  readonly madeSecond: number
}

/** What a call says to a breaker; `unasked`: it did not take place after all. */
export type Meaning = 'good' | 'failure' | 'fatal' | 'nothing' | 'unasked'

/** The outcomes that one process has counted since it last told of them. */
export interface Outcomes {
  readonly counts: readonly MadeCount[]
  /** When the last good one ended, and how many failed after it. */
  readonly goodAtMs: number | null
  readonly failuresInARow: number
  readonly fatal: boolean
  readonly probe: { readonly id: string; readonly meaning: Meaning } | null
}

export interface BreakerRule {
  /** Opens after so many failures without a success between. */
  readonly inARow?: number
  /** Opens when more than this share of at least so many calls failed within the time. */
  readonly within?: { readonly ms: number; readonly calls: number; readonly share: number }
  /** The time until the first probe, doubled to the longest. */
  readonly probe: { readonly baseMs: number; readonly maxMs: number }
}

const AUTH: BreakerRule = { inARow: 3, probe: { baseMs: 30_000, maxMs: 600_000 } }
const ERROR_PROBE = { baseMs: 5_000, maxMs: 60_000 }

/** Lists are too rare for shares. */
export const RULES: Readonly<Record<EndpointGroup, Readonly<Record<BreakerName, BreakerRule>>>> = {
  lists: { auth: AUTH, errors: { inARow: 3, probe: ERROR_PROBE } },
  verify: {
    auth: AUTH,
    errors: { within: { ms: 10_000, calls: 20, share: 0.5 }, probe: ERROR_PROBE },
  },
}

/** A breaker that opens again this soon after it closed goes on where it was, instead of hurrying anew. */
const SAME_TROUBLE_MS = 60_000

export interface Moment {
  readonly rule: BreakerRule
  readonly nowMs: number
  readonly fingerprint: string
}

/**
 * The breaker after some outcomes: the one transition that all processes make, each on the locked row.
 *
 * While it is open only its probe counts: what else comes in was asked before it opened.
 */
export function settle(state: BreakerState, outcomes: Outcomes, at: Moment): BreakerState {
  if (state.open !== null) return settleProbe(state, state.open, outcomes.probe, at)
  const counts = outcomes.counts.filter(({ madeSecond }) => isSince(state, madeSecond))
  const window = recentCounts([...state.window, ...counts], at)
  const before = isBetween(state, outcomes) ? 0 : state.failuresInARow
  const failuresInARow = before + outcomes.failuresInARow
  const failedAtMs = outcomes.failuresInARow > 0 ? at.nowMs : state.failedAtMs
  const counted = { ...state, window, failuresInARow, failedAtMs }
  return outcomes.fatal || isTooMuch(counted, at) ? opened(counted, at) : counted
}

/** Closes a breaker that opened under another credential: what was refused is no longer sent. */
export function withCredential(state: BreakerState, { fingerprint, nowMs }: Moment): BreakerState {
  if (state.open === null || state.open.fingerprint === fingerprint) return state
  return { ...closed(state, nowMs), trips: 0 }
}

/** Lends the probe to one caller until the lease ends. */
export function withProbe(
  state: BreakerState,
  probe: { readonly id: string; readonly untilMs: number },
): BreakerState {
  return state.open === null ? state : { ...state, open: { ...state.open, probe } }
}

/**
 * When an open breaker lets the next probe out; 0 where one is due.
 *
 * An instant that no transition can have set means that the database's clock was set back: it is due.
 */
export function nextProbeMs(
  { probe, probeAtMs }: OpenBreaker,
  { nowMs, leaseMs, maxMs }: { nowMs: number; leaseMs: number; maxMs: number },
): number {
  const leasedMs = probe === null || probe.untilMs > nowMs + leaseMs ? 0 : probe.untilMs
  const dueMs = probeAtMs > nowMs + maxMs ? 0 : probeAtMs
  const nextMs = Math.max(leasedMs, dueMs)
  return nextMs <= nowMs ? 0 : nextMs
}

/** Calls that hung before the breaker opened end after it closed: they say nothing of what is now. */
function isSince({ closedAtMs }: BreakerState, madeSecond: number): boolean {
  return closedAtMs === null || madeSecond >= Math.floor(closedAtMs / 1000)
}

/** A success of this process from before the others' failures does not lie between those and its own. */
function isBetween({ failedAtMs }: BreakerState, { goodAtMs }: Outcomes): boolean {
  return goodAtMs !== null && (failedAtMs === null || goodAtMs > failedAtMs)
}

function settleProbe(
  state: BreakerState,
  open: OpenBreaker,
  probe: Outcomes['probe'],
  { rule, nowMs }: Moment,
): BreakerState {
  // A lease that ended, or another's: whoever holds it now will tell.
  if (probe === null || probe.id !== open.probe?.id) return state
  if (probe.meaning === 'good') return closed(state, nowMs)
  if (probe.meaning === 'unasked') return { ...state, open: { ...open, probe: null } }
  const trips = probe.meaning === 'nothing' ? state.trips : state.trips + 1
  const probeAtMs = nowMs + waitMs(rule, trips)
  return { ...state, trips, open: { ...open, probe: null, probeAtMs } }
}

function opened(state: BreakerState, { rule, nowMs, fingerprint }: Moment): BreakerState {
  const again = state.closedAtMs !== null && nowMs - state.closedAtMs < SAME_TROUBLE_MS
  const trips = (again ? state.trips : 0) + 1
  const probeAtMs = nowMs + waitMs(rule, trips)
  const open = { sinceMs: nowMs, fingerprint, probeAtMs, probe: null }
  return { ...state, open, trips, failuresInARow: 0, window: [] }
}

function closed(state: BreakerState, nowMs: number): BreakerState {
  return { ...state, open: null, closedAtMs: nowMs, failuresInARow: 0, window: [] }
}

function waitMs({ probe: { baseMs, maxMs } }: BreakerRule, trips: number): number {
  return Math.min(maxMs, baseMs * 2 ** Math.min(30, trips - 1))
}

/** The counts that the rule looks at, one a second; none where no call failed, for then there is nothing to judge. */
function recentCounts(counts: readonly CallCount[], { rule, nowMs }: Moment): CallCount[] {
  if (rule.within === undefined) return []
  const bySecond = new Map<number, CallCount>()
  for (const { second, calls, failed } of counts) {
    if (second * 1000 <= nowMs - rule.within.ms || second * 1000 > nowMs + 1000) continue
    const sum = bySecond.get(second) ?? { second, calls: 0, failed: 0 }
    bySecond.set(second, { second, calls: sum.calls + calls, failed: sum.failed + failed })
  }
  const recent = [...bySecond.values()].toSorted((a, b) => a.second - b.second)
  return recent.some((count) => count.failed > 0) ? recent : []
}

function isTooMuch({ failuresInARow, window }: BreakerState, { rule }: Moment): boolean {
  if (rule.inARow !== undefined && failuresInARow >= rule.inARow) return true
  if (rule.within === undefined) return false
  const calls = window.reduce((sum, count) => sum + count.calls, 0)
  const failed = window.reduce((sum, count) => sum + count.failed, 0)
  return calls >= rule.within.calls && failed > rule.within.share * calls
}
