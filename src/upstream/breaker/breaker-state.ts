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
  /** When the last failure was recorded. Null if none was. */
  readonly failedAtMs: number | null
  /** The calls of the last seconds. Empty if none failed, or if the rule does not count shares. */
  readonly window: readonly CallCount[]
}

export type GroupStates = Readonly<Record<BreakerName, BreakerState>>

export interface OpenBreaker {
  readonly sinceMs: number
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

/** Calls that ended in one second. */
export interface CallCount {
  readonly second: number
  readonly calls: number
  readonly failed: number
}

/** Calls that ended in one second and began in another: a call that hangs ends long after its start. */
export interface TimedCount extends CallCount {
  readonly madeSecond: number
}

/** What the end of a call means to a breaker. `neutral`: neither good nor bad. `not_made`: there was no call. */
export type BreakerSignal = 'success' | 'failure' | 'fatal' | 'neutral' | 'not_made'

/** The signals that one process has counted since its last report. */
export interface Outcomes {
  readonly counts: readonly TimedCount[]
  /** When the last success ended, and the number of failures after it. */
  readonly goodAtMs: number | null
  readonly failuresInARow: number
  readonly fatal: boolean
  readonly probe: { readonly id: string; readonly signal: BreakerSignal } | null
}

export interface BreakerRule {
  /** The breaker opens after this number of consecutive failures. */
  readonly inARow?: number
  /** The breaker opens if more than this share of at least this number of calls failed within the time. */
  readonly within?: { readonly ms: number; readonly calls: number; readonly share: number }
  /** The time until the first probe. It doubles up to the maximum. */
  readonly probe: { readonly baseMs: number; readonly maxMs: number }
}

const AUTH: BreakerRule = { inARow: 3, probe: { baseMs: 30_000, maxMs: 600_000 } }
const ERROR_PROBE = { baseMs: 5_000, maxMs: 60_000 }

/** Lists have no rule by share, because they are fetched too rarely. */
export const RULES: Readonly<Record<EndpointGroup, Readonly<Record<BreakerName, BreakerRule>>>> = {
  lists: { auth: AUTH, errors: { inARow: 3, probe: ERROR_PROBE } },
  verify: {
    auth: AUTH,
    errors: { within: { ms: 10_000, calls: 20, share: 0.5 }, probe: ERROR_PROBE },
  },
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
  if (state.open !== null) return applyProbe(state, state.open, outcomes.probe, context)
  const counts = outcomes.counts.filter(({ madeSecond }) => madeSinceClosing(state, madeSecond))
  const window = recentCounts([...state.window, ...counts], context)
  const before = succeededSinceFailure(state, outcomes) ? 0 : state.failuresInARow
  const failuresInARow = before + outcomes.failuresInARow
  const failedAtMs = outcomes.failuresInARow > 0 ? context.nowMs : state.failedAtMs
  const counted = { ...state, window, failuresInARow, failedAtMs }
  return outcomes.fatal || exceedsRule(counted, context) ? opened(counted, context) : counted
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
  { nowMs, leaseMs, maxMs }: { nowMs: number; leaseMs: number; maxMs: number },
): number {
  const leasedMs = probe === null || probe.untilMs > nowMs + leaseMs ? 0 : probe.untilMs
  const dueMs = probeAtMs > nowMs + maxMs ? 0 : probeAtMs
  const nextMs = Math.max(leasedMs, dueMs)
  return nextMs <= nowMs ? 0 : nextMs
}

/** Calls that hung while the breaker opened may end after it closed. They say nothing about the present. */
function madeSinceClosing({ closedAtMs }: BreakerState, madeSecond: number): boolean {
  return closedAtMs === null || madeSecond >= Math.floor(closedAtMs / 1000)
}

/** A success of this process that is older than the recorded failures of others does not end their sequence. */
function succeededSinceFailure({ failedAtMs }: BreakerState, { goodAtMs }: Outcomes): boolean {
  return goodAtMs !== null && (failedAtMs === null || goodAtMs > failedAtMs)
}

function applyProbe(
  state: BreakerState,
  open: OpenBreaker,
  probe: Outcomes['probe'],
  { rule, nowMs }: BreakerContext,
): BreakerState {
  // The lease has ended or belongs to another process. Its present holder will report.
  if (probe === null || probe.id !== open.probe?.id) return state
  if (probe.signal === 'success') return closed(state, nowMs)
  if (probe.signal === 'not_made') return { ...state, open: { ...open, probe: null } }
  const trips = probe.signal === 'neutral' ? state.trips : state.trips + 1
  const probeAtMs = nowMs + waitMs(rule, trips)
  return { ...state, trips, open: { ...open, probe: null, probeAtMs } }
}

function opened(state: BreakerState, { rule, nowMs, fingerprint }: BreakerContext): BreakerState {
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

/** The counts within the rule's time, one a second. Empty if no call failed. */
function recentCounts(counts: readonly CallCount[], { rule, nowMs }: BreakerContext): CallCount[] {
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

function exceedsRule({ failuresInARow, window }: BreakerState, { rule }: BreakerContext): boolean {
  if (rule.inARow !== undefined && failuresInARow >= rule.inARow) return true
  if (rule.within === undefined) return false
  const calls = window.reduce((sum, count) => sum + count.calls, 0)
  const failed = window.reduce((sum, count) => sum + count.failed, 0)
  return calls >= rule.within.calls && failed > rule.within.share * calls
}
