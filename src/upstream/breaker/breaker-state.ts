import { isAhead } from '../../base/clock.ts'

/** Endpoints form two groups, because lists and verify can fail or be refused independently. */
export type EndpointGroup = 'lists' | 'verify'
/** `auth`: our credential is refused. `errors`: no answers arrive, or server errors. */
export type BreakerName = 'auth' | 'errors'

export const ENDPOINT_GROUPS: readonly EndpointGroup[] = ['lists', 'verify']
export const BREAKERS: readonly BreakerName[] = ['auth', 'errors']

/** A breaker as its row stores it. Instants are milliseconds by the database's clock. */
export interface BreakerState {
  /** Null while the breaker is closed. */
  readonly open: OpenBreaker | null
  /** When the breaker last closed. Null if it was never open. */
  readonly closedAtMs: number | null
  /** Consecutive openings and failed probes. Each doubles the time until the next probe. */
  readonly trips: number
  readonly failuresInARow: number
  /** When the last of these failed calls was made. Null if none was. */
  readonly failedAtMs: number | null
  /** The calls that were made in the last seconds. Empty if none failed, or if the rule does not count shares. */
  readonly window: readonly CallCount[]
}

export type GroupStates = Readonly<Record<BreakerName, BreakerState>>

export interface OpenBreaker {
  readonly sinceMs: number
  /** How the last failed call ended: `ECONNREFUSED`, `401`, `timeout`. Older versions wrote none. */
  readonly cause?: string | null
  /** When the last successful call was made, as far as the process that opened the breaker knows. */
  readonly goodAtMs?: number | null
  /** Fingerprint of the credential in use when the breaker opened. */
  readonly fingerprint: string
  readonly probeAtMs: number
  /** The one permitted call, until its lease ends. If its process dies, another process gets the probe then. */
  readonly probe: ProbeLease | null
}

export interface ProbeLease {
  readonly id: string
  readonly untilMs: number
}

/** The calls that were made in one second and have ended. */
export interface CallCount {
  readonly second: number
  readonly calls: number
  readonly failed: number
}

/** What the end of a call means to a breaker. `neutral`: neither good nor bad. `not_made`: there was no call. */
export type BreakerSignal = 'success' | 'failure' | 'neutral' | 'not_made'

/**
 * The signals that one process has counted since its last report. Calls are ordered by when they were made: a call
 * that hangs ends long after its start, and says nothing about the time between.
 */
export interface Outcomes {
  readonly counts: readonly CallCount[]
  /** When the last successful call was made, also before the last report. */
  readonly goodAtMs: number | null
  /** The failed calls that were made after it, and when the last of them was made. */
  readonly failuresInARow: number
  readonly failedAtMs: number | null
  /** How the last failed call ended. */
  readonly cause: string | null
  readonly probe: { readonly id: string; readonly signal: BreakerSignal } | null
}

export interface BreakerRule {
  /** The breaker opens after this number of consecutive failures. */
  readonly inARow?: number
  /** The breaker opens if more than this share of at least this number of calls failed. See `exceedsShare`. */
  readonly share?: { readonly over: number; readonly calls: number }
}

/** The time until the first probe. It doubles up to the maximum. */
export const PROBE_MS = { base: 5_000, max: 60_000 }

/** The second span includes all calls that can still be in flight: it is longer than the deadline of a verify call. */
export const SPANS_MS = { recent: 10_000, inFlight: 20_000, longest: 60_000 }
const MOST = { over: 0.5, calls: 20 }

/**
 * A single refusal among good answers is an error of the upstream, not a refused credential. Lists have no rule by
 * share, because they are fetched too rarely. With a small budget, refusals in a row open the breaker of verify.
 */
export const RULES: Readonly<Record<EndpointGroup, Readonly<Record<BreakerName, BreakerRule>>>> = {
  lists: { auth: { inARow: 3 }, errors: { inARow: 3 } },
  verify: { auth: { inARow: 10, share: MOST }, errors: { share: MOST } },
}

/** A breaker that reopens within this time after closing keeps its probe interval. Later it starts with the shortest. */
const SAME_TROUBLE_MS = 60_000

export interface BreakerContext {
  readonly rule: BreakerRule
  readonly nowMs: number
  readonly fingerprint: string
}

/**
 * The state of a breaker after some outcomes. Every process applies this one transition, each on the locked row.
 *
 * While the breaker is open only its probe counts. All other outcomes belong to calls from before it opened.
 */
export function applyOutcomes(
  state: BreakerState,
  outcomes: Outcomes,
  context: BreakerContext,
): BreakerState {
  if (state.open !== null) return applyProbe(state, state.open, outcomes, context)
  const sinceMs = closingSecond(state, context) * 1000
  const counts = outcomes.counts.filter(({ second }) => second * 1000 >= sinceMs)
  const window = recentCounts([...state.window, ...counts], context)
  const lastMs = isAhead(state.failedAtMs, context.nowMs) ? null : state.failedAtMs
  const before = succeededSinceFailure(lastMs, outcomes.goodAtMs) ? 0 : state.failuresInARow
  const isLate = (outcomes.failedAtMs ?? 0) < sinceMs
  const failuresInARow = before + (isLate ? 0 : outcomes.failuresInARow)
  const failedAtMs = outcomes.failedAtMs ?? state.failedAtMs
  const counted = { ...state, window, failuresInARow, failedAtMs }
  return exceedsRule(counted, context) ? opened(counted, outcomes, context) : counted
}

/** Closes a breaker that opened under another credential, because the refused credential is no longer sent. */
export function withCredential(
  state: BreakerState,
  { fingerprint, nowMs }: BreakerContext,
): BreakerState {
  if (state.open === null || state.open.fingerprint === fingerprint) return state
  return { ...closed(state, nowMs), trips: 0 }
}

/** Leases the probe to one caller. */
export function withProbe(state: BreakerState, probe: ProbeLease): BreakerState {
  return state.open === null ? state : { ...state, open: { ...state.open, probe } }
}

/**
 * When an open breaker permits the next probe. 0 if a probe is due now.
 *
 * An instant that is too far ahead for any transition means that the database's clock was set back: a probe is due.
 */
export function nextProbeMs(
  { probe, probeAtMs }: OpenBreaker,
  { nowMs, leaseMs }: { nowMs: number; leaseMs: number },
): number {
  const leasedMs = probe === null || probe.untilMs > nowMs + leaseMs ? 0 : probe.untilMs
  const dueMs = probeAtMs > nowMs + PROBE_MS.max ? 0 : probeAtMs
  const nextMs = Math.max(leasedMs, dueMs)
  return nextMs <= nowMs ? 0 : nextMs
}

/** Calls that hung while the breaker opened may end after it closed. They say nothing about the present. */
function closingSecond({ closedAtMs }: BreakerState, { nowMs }: BreakerContext): number {
  return isAhead(closedAtMs, nowMs) ? 0 : Math.floor((closedAtMs ?? 0) / 1000)
}

/** A success that is older than the recorded failures of others does not end their sequence. */
function succeededSinceFailure(failedAtMs: number | null, goodAtMs: number | null): boolean {
  return goodAtMs !== null && (failedAtMs === null || goodAtMs > failedAtMs)
}

function applyProbe(
  state: BreakerState,
  open: OpenBreaker,
  { probe, cause }: Outcomes,
  { nowMs }: BreakerContext,
): BreakerState {
  // The lease has ended or belongs to another process. Its present holder will report.
  if (probe === null || probe.id !== open.probe?.id) return state
  if (probe.signal === 'success') return closed(state, nowMs)
  if (probe.signal === 'not_made') return { ...state, open: { ...open, probe: null } }
  const trips = probe.signal === 'neutral' ? state.trips : state.trips + 1
  const probeAtMs = nowMs + waitMs(trips)
  const lastCause = cause ?? open.cause ?? null
  return { ...state, trips, open: { ...open, cause: lastCause, probe: null, probeAtMs } }
}

function opened(
  state: BreakerState,
  { cause, goodAtMs }: Outcomes,
  { nowMs, fingerprint }: BreakerContext,
): BreakerState {
  const again = state.closedAtMs !== null && nowMs - state.closedAtMs < SAME_TROUBLE_MS
  const trips = (again ? state.trips : 0) + 1
  const probeAtMs = nowMs + waitMs(trips)
  const open = { sinceMs: nowMs, cause, goodAtMs, fingerprint, probeAtMs, probe: null }
  return { ...state, open, trips, failuresInARow: 0, window: [] }
}

function closed(state: BreakerState, nowMs: number): BreakerState {
  return { ...state, open: null, closedAtMs: nowMs, failuresInARow: 0, window: [] }
}

function waitMs(trips: number): number {
  return Math.min(PROBE_MS.max, PROBE_MS.base * 2 ** Math.min(30, trips - 1))
}

/** The calls that were made within the longest span, one count a second. Empty if no call failed. */
function recentCounts(counts: readonly CallCount[], { rule, nowMs }: BreakerContext): CallCount[] {
  if (rule.share === undefined) return []
  const bySecond = new Map<number, CallCount>()
  for (const { second, calls, failed } of counts) {
    if (second * 1000 <= nowMs - SPANS_MS.longest || second * 1000 > nowMs + 1000) continue
    const sum = bySecond.get(second) ?? { second, calls: 0, failed: 0 }
    bySecond.set(second, { second, calls: sum.calls + calls, failed: sum.failed + failed })
  }
  const recent = [...bySecond.values()].toSorted((a, b) => a.second - b.second)
  return recent.some((count) => count.failed > 0) ? recent : []
}

function exceedsRule({ failuresInARow, window }: BreakerState, context: BreakerContext): boolean {
  const { inARow } = context.rule
  return (inARow !== undefined && failuresInARow >= inARow) || exceedsShare(window, context)
}

/**
 * Whether most calls failed: of those made in the last ten seconds of which an end is known, or of those made in the
 * last twenty or sixty seconds.
 *
 * The first span sees errors within seconds, and an upstream that stops answering as soon as the first deadlines pass.
 * It ignores timeouts of calls that were made before newer calls succeeded, so it cannot open on an upstream that has
 * recovered. The second span sees an upstream that answers few of its calls and lets the others time out. The third
 * span sees errors when few calls are made.
 */
function exceedsShare(
  window: readonly CallCount[],
  { rule: { share }, nowMs }: BreakerContext,
): boolean {
  if (share === undefined) return false
  const newestMs = 1000 * (window.at(-1)?.second ?? 0)
  const starts = [newestMs - SPANS_MS.recent, nowMs - SPANS_MS.inFlight, nowMs - SPANS_MS.longest]
  return starts.some((startMs) => {
    const { calls, failed } = sumOf(window.filter(({ second }) => second * 1000 > startMs))
    return calls >= share.calls && failed > share.over * calls
  })
}

/** @example sumOf(state.window) // the calls of the last seconds, and how many of them failed */
export function sumOf(counts: readonly CallCount[]): { calls: number; failed: number } {
  return {
    calls: counts.reduce((sum, count) => sum + count.calls, 0),
    failed: counts.reduce((sum, count) => sum + count.failed, 0),
  }
}
