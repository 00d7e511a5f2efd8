import { hash, randomUUID } from 'node:crypto'
import type { Clock } from '../../base/clock.ts'
import type { Logger } from '../../base/logger.ts'
import type { Db } from '../../db/database.ts'
import { inTransaction } from '../../db/transaction.ts'
import {
  type Admission,
  type AdmissionFacts,
  admissionOf,
  LEASE_MS,
  statesFor,
} from './admission.ts'
import { type BreakerState, type EndpointGroup, withProbe } from './breaker-state.ts'
import { lockBreakers } from './breaker-store.ts'
import { createHealthReporter, type EndedCall, type Permit } from './call-reporter.ts'
import { logTransitions } from './health-log.ts'
import { createHealthView, type HealthView } from './health-view.ts'
import { saveChanged } from './save-changed.ts'

export type Refusal = Extract<Admission, { kind: 'refused' }>

/**
 * What stands between all processes' calls and an upstream that has asked us to pause, refuses our credential or
 * fails. While all is well it costs a process one small read every quarter of a second, and writes nothing.
 */
export interface CircuitBreaker {
  /** Whether a call could go out now, without going. */
  admission(group: EndpointGroup): Promise<Admission>
  /** Goes through, or not. Of all processes one alone gets a probe; whoever has a pass reports how its call ended. */
  acquirePermit(group: EndpointGroup): Promise<Permit | Refusal>
  /** Resolves once what cannot wait is told to the others. Never rejects. */
  report(group: EndpointGroup, call: EndedCall): Promise<void> | undefined
  /** Tells what is left to tell. */
  close(): Promise<void>
}

export interface BreakerDeps {
  readonly db: Db
  readonly clock: Clock
  readonly log: Logger
  readonly accessToken: string | undefined
}

interface BreakerParts extends BreakerDeps {
  readonly view: HealthView
  readonly fingerprint: string
}

export function createCircuitBreaker(deps: BreakerDeps): CircuitBreaker {
  const view = createHealthView(deps)
  const parts = { ...deps, view, fingerprint: fingerprintOf(deps.accessToken) }
  const reporter = createHealthReporter(parts)

  async function look(group: EndpointGroup): Promise<AdmissionFacts> {
    // What this process is just telling it heeds itself.
    if (reporter.telling !== undefined) await reporter.telling
    const { breakers, pausedUntilMs } = await view.current()
    const { fingerprint } = parts
    return { group, states: breakers[group], pausedUntilMs, fingerprint, nowMs: view.nowMs() }
  }

  return {
    admission: async (group) => admissionOf(await look(group)),
    async acquirePermit(group) {
      const facts = await look(group)
      const admission = admissionOf(facts)
      if (admission.kind === 'refused') return admission
      const isOld = statesFor(facts) !== facts.states
      return admission.kind === 'probe' || isOld ? takeProbe(parts, facts) : permitAt(facts.nowMs)
    },
    report: (group, call) => reporter.report(group, call),
    close: () => reporter.close(),
  }
}

/**
 * Looks again at the locked rows, and takes the probe where there still is one. Closes a breaker that opened under
 * another credential.
 */
async function takeProbe(
  { db, log, view, fingerprint }: BreakerParts,
  { group, pausedUntilMs }: AdmissionFacts,
): Promise<Permit | Refusal> {
  const { admission, probe, before, after } = await inTransaction(db, async (tx) => {
    const { states, nowMs } = await lockBreakers(tx, group)
    const facts = { group, states, pausedUntilMs, fingerprint, nowMs }
    const found = admissionOf(facts)
    const lease = { id: randomUUID(), untilMs: nowMs + LEASE_MS[group] }
    const lend = (state: BreakerState) => (found.kind === 'probe' ? withProbe(state, lease) : state)
    const ours = statesFor(facts)
    const lent = { auth: lend(ours.auth), errors: lend(ours.errors) }
    await saveChanged(tx, group, { before: states, after: lent })
    return { admission: found, probe: lease.id, before: states, after: lent }
  })
  view.putStates(group, after)
  logTransitions(log, group, { before, after })
  if (admission.kind === 'refused') return admission
  return { ...permitAt(view.nowMs()), ...(admission.kind === 'probe' ? { probe } : {}) }
}

function permitAt(madeAtMs: number): Permit {
  return { kind: 'permit', probe: null, madeAtMs }
}

/** Tells two credentials apart, and neither of them to anybody: 32 bits of a hash fit billions of tokens. */
function fingerprintOf(accessToken: string | undefined): string {
  return accessToken === undefined ? 'none' : hash('sha256', accessToken).slice(0, 8)
}
