import { isAhead } from '../../platform/base/clock.ts'
import type { OutcomeClass } from '../upstream-errors.ts'

/** Endpoints form two groups, because lists and verify can fail or be refused independently. */
export const ENDPOINT_GROUPS = ['lists', 'verify'] as const
export type EndpointGroup = (typeof ENDPOINT_GROUPS)[number]
/** `auth`: our credential is refused. `errors`: no answers arrive, or server errors. */
export const BREAKERS = ['auth', 'errors'] as const
export type BreakerName = (typeof BREAKERS)[number]

/** All instants are milliseconds by the database's clock. They are null if there was no such event. */
export interface BreakerState {
  /** Null while the breaker is closed. */
  readonly open: OpenBreaker | null
  /** Grows with each failed call, falls with each success, and is never below 0. It opens the breaker. */
  readonly failures: number
  /** When the last failed call was made while the breaker was closed. */
  readonly failedAtMs: number | null
  readonly closedAtMs: number | null
}

interface OpenBreaker {
  readonly sinceMs: number
  /** How the last failed call ended: `ECONNREFUSED`, `401`, `timeout`. */
  readonly cause: string
  /** When the last good call was made, as far as the process that opened the breaker knows. */
  readonly goodAtMs: number | null
  /** The running probe, and when the next one may be made: when its lease ends, in case its process dies. */
  readonly probe: string | null
  readonly probeAtMs: number
}

export type Breakers = Readonly<Record<EndpointGroup, Readonly<Record<BreakerName, BreakerState>>>>

/** A change of the breakers at an instant. Returns the same object if it changes nothing. */
export type Change = (breakers: Breakers, nowMs: number) => Breakers

export function listBreakers(breakers: Breakers) {
  return ENDPOINT_GROUPS.flatMap((endpoint) =>
    BREAKERS.map((breaker) => ({ endpoint, breaker, ...breakers[endpoint][breaker] })),
  )
}

/** The failures that open each breaker. Lists are fetched too rarely to wait for more than three. */
const OPENS_AT = { lists: { auth: 3, errors: 3 }, verify: { auth: 10, errors: 20 } } as const
/**
 * A success outweighs one and a half failures, so a breaker opens only if over three fifths of the calls fail. When an
 * upstream that hung works again, successes and the timeouts of earlier calls come in equal numbers and do not open it.
 */
const SUCCESS_WEIGHT = 1.5
/**
 * The time until the first probe. The time since the opening is added, which doubles it each time, up to the
 * maximum.
 */
const PROBE_MS = { base: 5_000, max: 60_000 }
/** Longer than the deadlines of the group's calls. */
const LEASE_MS = { lists: 150_000, verify: 20_000 } as const

/** `probe` is set if the call was one. `goodAtMs` is when its process made its last good call. */
export interface EndedCall extends Pick<OpenBreaker, 'cause' | 'goodAtMs' | 'probe'> {
  readonly group: EndpointGroup
  readonly outcome: OutcomeClass
  readonly madeAtMs: number
}

/** The breakers after the end of a call. Returns the same object if the call changes nothing. */
export function afterCall(breakers: Breakers, call: EndedCall, nowMs: number): Breakers {
  const state = breakers[call.group]
  const auth = afterEnd(state.auth, { ...call, name: 'auth' }, nowMs)
  const errors = afterEnd(state.errors, { ...call, name: 'errors' }, nowMs)
  if (auth === state.auth && errors === state.errors) return breakers
  return { ...breakers, [call.group]: { auth, errors } }
}

/** While a breaker is open only its probe counts. After it has closed, calls that were made before do not count. */
function afterEnd(
  state: BreakerState,
  call: EndedCall & { readonly name: BreakerName },
  nowMs: number,
): BreakerState {
  const { open, failures, closedAtMs } = state
  const success = isSuccess(call.name, call.outcome)
  const { cause, goodAtMs, madeAtMs, probe } = call
  if (open !== null) {
    if (probe === null || probe !== open.probe) return state
    if (success === true) return { ...state, open: null, closedAtMs: nowMs }
    const waitMs = Math.min(PROBE_MS.max, PROBE_MS.base + nowMs - open.sinceMs)
    const lastCause = success === false ? cause : open.cause
    return { ...state, open: { ...open, cause: lastCause, probe: null, probeAtMs: nowMs + waitMs } }
  }
  const isLate = closedAtMs !== null && madeAtMs < closedAtMs && !isAhead(closedAtMs, nowMs)
  if (isLate || success === null || (success && failures === 0)) return state
  if (success) return { ...state, failures: Math.max(0, failures - SUCCESS_WEIGHT) }
  const failed = { ...state, failures: failures + 1, failedAtMs: madeAtMs }
  if (failed.failures < OPENS_AT[call.group][call.name]) return failed
  const probeAtMs = nowMs + PROBE_MS.base
  return {
    ...failed,
    failures: 0,
    open: { sinceMs: nowMs, cause, goodAtMs, probeAtMs, probe: null },
  }
}

/**
 * Null: neither. A server that refuses our credential is up. A server that is down says nothing about our
 * credential.
 */
function isSuccess(name: BreakerName, outcome: OutcomeClass): boolean | null {
  if (outcome === 'not_made') return null
  if (name === 'errors') return outcome !== 'failed'
  if (outcome === 'refused') return false
  return outcome === 'good' ? true : null
}

/** Whether a call may be made now: freely, as the one probe, or not. */
export type Admission = { readonly kind: 'allowed' } | { readonly kind: 'probe' } | Refusal
/** `untilMs` is the next attempt, as far as known. `cause` is why the breaker opened; a pause has none. */
export interface Refusal {
  readonly kind: 'refused'
  readonly by: 'pause' | BreakerName
  readonly untilMs: number
  readonly cause?: string
}

/** Each open breaker of the group refuses calls until its next probe. */
export function admissionOf(breakers: Breakers, group: EndpointGroup, nowMs: number): Admission {
  const waits = BREAKERS.flatMap((by) => {
    const { open } = breakers[group][by]
    if (open === null) return []
    return [{ kind: 'refused' as const, by, cause: open.cause, untilMs: open.probeAtMs }]
  })
  const [longest] = waits.toSorted((a, b) => b.untilMs - a.untilMs)
  if (longest === undefined) return { kind: 'allowed' }
  // An instant that is too far ahead means that the database's clock was set back: a probe is due.
  const isTooFar = longest.untilMs > nowMs + LEASE_MS.lists
  return longest.untilMs > nowMs && !isTooFar ? longest : { kind: 'probe' }
}

type Lease = Pick<EndedCall, 'group'> & { readonly probe: string }

/** Leases the probe of a group to one caller if it is due. Returns the same object if it is not. */
export function withProbe(breakers: Breakers, { group, probe }: Lease, nowMs: number): Breakers {
  if (admissionOf(breakers, group, nowMs).kind !== 'probe') return breakers
  const leased = (state: BreakerState): BreakerState => ({
    ...state,
    open: state.open && { ...state.open, probe, probeAtMs: nowMs + LEASE_MS[group] },
  })
  const { auth, errors } = breakers[group]
  return { ...breakers, [group]: { auth: leased(auth), errors: leased(errors) } }
}

/** Closes the breakers that refused credentials have opened. Calls that were made before do not count. */
export function withoutRefusals({ lists, verify }: Breakers, nowMs: number): Breakers {
  const closed = { open: null, failures: 0, failedAtMs: null, closedAtMs: nowMs }
  return { lists: { ...lists, auth: closed }, verify: { ...verify, auth: closed } }
}
