import { isPaused } from '../budget/throttle.ts'
import {
  BREAKERS,
  type BreakerName,
  type BreakerState,
  type EndpointGroup,
  type Moment,
  nextProbeMs,
  RULES,
  withCredential,
} from './breaker-state.ts'
import type { GroupStates } from './breaker-store.ts'

/** A probe that is not reported by then is another's: the calls of a group end sooner than this, by their deadline. */
export const LEASE_MS: Readonly<Record<EndpointGroup, number>> = { lists: 150_000, verify: 20_000 }

/** Whether a call may go out: freely; as the one probe; or not, by what, and until when as far as is known. */
export type Admission =
  | { readonly kind: 'allowed' }
  | { readonly kind: 'probe' }
  | { readonly kind: 'refused'; readonly by: 'pause' | BreakerName; readonly untilMs: number }

export interface AdmissionFacts {
  readonly group: EndpointGroup
  readonly states: GroupStates
  readonly pausedUntilMs: number
  readonly fingerprint: string
  readonly nowMs: number
}

/** The breakers as they are for our credential. */
export function statesFor({
  group,
  states,
  fingerprint,
  nowMs,
}: Omit<AdmissionFacts, 'pausedUntilMs'>) {
  const moment: Moment = { rule: RULES[group].auth, fingerprint, nowMs }
  const auth = withCredential(states.auth, moment)
  return auth === states.auth ? states : { ...states, auth }
}

/** What the pause and both breakers say together: one of them that is closed to us is enough. */
export function admissionOf(facts: AdmissionFacts): Admission {
  const { group, pausedUntilMs, nowMs } = facts
  if (isPaused({ pausedUntilMs }, nowMs)) {
    return { kind: 'refused', by: 'pause', untilMs: pausedUntilMs }
  }
  const states = statesFor(facts)
  const open = BREAKERS.filter((name) => states[name].open !== null)
  const waits = open
    .map((by) => ({ by, untilMs: waitOf(states[by], { group, by, nowMs }) }))
    .filter(({ untilMs }) => untilMs > 0)
    .toSorted((a, b) => b.untilMs - a.untilMs)
  const [longest] = waits
  if (longest !== undefined) return { kind: 'refused', ...longest }
  return { kind: open.length > 0 ? 'probe' : 'allowed' }
}

function waitOf(
  { open }: BreakerState,
  { group, by, nowMs }: { group: EndpointGroup; by: BreakerName; nowMs: number },
): number {
  if (open === null) return 0
  const { maxMs } = RULES[group][by].probe
  return nextProbeMs(open, { nowMs, leaseMs: LEASE_MS[group], maxMs })
}
