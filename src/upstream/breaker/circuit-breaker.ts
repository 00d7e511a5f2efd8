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
  type Permit,
  type Refusal,
  statesFor,
} from './admission.ts'
import { type BreakerState, type EndpointGroup, withProbe } from './breaker-state.ts'
import {
  createHealthView,
  type HealthView,
  lockBreakers,
  logTransitions,
  saveChanged,
} from './breaker-store.ts'
import { createCallReporter, type EndedCall } from './call-reporter.ts'

/**
 * Protects an upstream that has asked us to pause, refuses our credential or fails. All processes share its state.
 *
 * While all calls succeed it costs each process one small read every quarter of a second, and no writes.
 */
export interface CircuitBreaker {
  /** Whether a call could be made now. Changes nothing. */
  admission(group: EndpointGroup): Promise<Admission>
  /**
   * Issues the permit for one call, or refuses it. Of all processes only one gets the permit for a probe. The caller
   * must report how the permitted call ended.
   */
  acquirePermit(group: EndpointGroup): Promise<Permit | Refusal>
  /** Resolves when what is urgent is written for the other processes. Never rejects. */
  report(group: EndpointGroup, call: EndedCall): Promise<void> | undefined
  /** Writes the pending reports. */
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
  const reporter = createCallReporter(parts)

  async function readFacts(group: EndpointGroup): Promise<AdmissionFacts> {
    // This process respects its own reports before they are written.
    if (reporter.flushing !== undefined) await reporter.flushing
    const { breakers, pausedUntilMs } = await view.current()
    const { fingerprint } = parts
    return { group, states: breakers[group], pausedUntilMs, fingerprint, nowMs: view.nowMs() }
  }

  return {
    admission: async (group) => admissionOf(await readFacts(group)),
    async acquirePermit(group) {
      const facts = await readFacts(group)
      const admission = admissionOf(facts)
      if (admission.kind === 'refused') return admission
      const isOutdated = statesFor(facts) !== facts.states
      const mustLock = admission.kind === 'probe' || isOutdated
      return mustLock ? acquireProbe(parts, facts) : permitAt(facts.nowMs)
    },
    report: (group, call) => reporter.report(group, call),
    close: () => reporter.close(),
  }
}

/**
 * Decides again on the locked rows, and leases the probe if one is still due. Closes a breaker that opened under
 * another credential.
 */
async function acquireProbe(
  { db, log, view, fingerprint }: BreakerParts,
  { group, pausedUntilMs }: AdmissionFacts,
): Promise<Permit | Refusal> {
  const { admission, probe, before, after } = await inTransaction(db, async (tx) => {
    const { states, nowMs } = await lockBreakers(tx, group)
    const facts = { group, states, pausedUntilMs, fingerprint, nowMs }
    const decided = admissionOf(facts)
    const lease = { id: randomUUID(), untilMs: nowMs + LEASE_MS[group] }
    const leased = (state: BreakerState) =>
      decided.kind === 'probe' ? withProbe(state, lease) : state
    const current = statesFor(facts)
    const next = { auth: leased(current.auth), errors: leased(current.errors) }
    await saveChanged(tx, group, { before: states, after: next })
    return { admission: decided, probe: lease.id, before: states, after: next }
  })
  view.putStates(group, after)
  logTransitions(log, group, { before, after })
  if (admission.kind === 'refused') return admission
  return { ...permitAt(view.nowMs()), ...(admission.kind === 'probe' ? { probe } : {}) }
}

function permitAt(madeAtMs: number): Permit {
  return { kind: 'permit', probe: null, madeAtMs }
}

/** Distinguishes credentials without revealing them: 32 bits of a hash match billions of tokens. */
function fingerprintOf(accessToken: string | undefined): string {
  return accessToken === undefined ? 'none' : hash('sha256', accessToken).slice(0, 8)
}
