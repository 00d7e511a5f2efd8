import { isPaused } from '../budget/throttle.ts'
import {
  BREAKERS,
  type BreakerContext,
  type BreakerName,
  type BreakerState,
  type EndpointGroup,
  type GroupStates,
  nextProbeMs,
  RULES,
  withCredential,
} from './breaker-state.ts'

/** After this time the probe is given to another caller. It is longer than the deadlines of the group's calls. */
export const LEASE_MS: Readonly<Record<EndpointGroup, number>> = { lists: 150_000, verify: 20_000 }

/** Whether a call may be made now: freely, as the one probe, or not. `untilMs` is the next attempt, as far as known. */
export type Admission =
  | { readonly kind: 'allowed' }
  | { readonly kind: 'probe' }
  | {
      readonly kind: 'refused'
      readonly by: 'pause' | BreakerName
      readonly untilMs: number
      /** Why the breaker opened. Missing for a pause. */
      readonly cause?: string | null
    }

export type Refusal = Extract<Admission, { kind: 'refused' }>

/** The right to make one call. `probe` is set if this call is the probe of an open breaker. */
export interface Permit {
  readonly kind: 'permit'
  readonly probe: string | null
  /** When the permit was issued, in milliseconds by the database's clock. */
  readonly madeAtMs: number
}

export interface AdmissionFacts {
  readonly group: EndpointGroup
  readonly states: GroupStates
  readonly pausedUntilMs: number
  readonly fingerprint: string
  readonly nowMs: number
}

/** The breakers as they apply to our credential. Returns the same object if nothing differs. */
export function statesFor({
  group,
  states,
  fingerprint,
  nowMs,
}: Omit<AdmissionFacts, 'pausedUntilMs'>): GroupStates {
  const context: BreakerContext = { rule: RULES[group].auth, fingerprint, nowMs }
  const auth = withCredential(states.auth, context)
  return auth === states.auth ? states : { ...states, auth }
}

/** Combines the pause and both breakers. Any one of them can refuse a call. */
export function admissionOf(facts: AdmissionFacts): Admission {
  const { group, pausedUntilMs, nowMs } = facts
  if (isPaused({ pausedUntilMs }, nowMs)) {
    return { kind: 'refused', by: 'pause', untilMs: pausedUntilMs }
  }
  const states = statesFor(facts)
  const open = BREAKERS.filter((name) => states[name].open !== null)
  const waits = open
    .map((by) => ({
      by,
      untilMs: waitUntilMs(states[by], { group, nowMs }),
      cause: states[by].open?.cause ?? null,
    }))
    .filter(({ untilMs }) => untilMs > 0)
    .toSorted((a, b) => b.untilMs - a.untilMs)
  const [longest] = waits
  if (longest !== undefined) return { kind: 'refused', ...longest }
  return { kind: open.length > 0 ? 'probe' : 'allowed' }
}

function waitUntilMs(
  { open }: BreakerState,
  { group, nowMs }: { group: EndpointGroup; nowMs: number },
): number {
  return open === null ? 0 : nextProbeMs(open, { nowMs, leaseMs: LEASE_MS[group] })
}
