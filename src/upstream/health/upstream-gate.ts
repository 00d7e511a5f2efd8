import { hash, randomUUID } from 'node:crypto'
import type { Clock } from '../../base/clock.ts'
import type { Logger } from '../../base/logger.ts'
import type { Db } from '../../db/database.ts'
import { inTransaction } from '../../db/transaction.ts'
import { type BreakerState, type EndpointGroup, withProbe } from './breaker.ts'
import { type Entry, type EntryFacts, entryOf, LEASE_MS, statesFor } from './gate-entry.ts'
import { logTransitions } from './health-log.ts'
import { createHealthReporter, type EndedCall, type Pass } from './health-reporter.ts'
import { lockBreakers } from './health-store.ts'
import { createHealthView, type HealthView } from './health-view.ts'
import { saveChanged } from './save-changed.ts'

export type Closed = Extract<Entry, { kind: 'closed' }>

/**
 * What stands between all processes' calls and an upstream that has asked us to pause, refuses our credential or
 * fails. While all is well it costs a process one small read every quarter of a second, and writes nothing.
 */
export interface UpstreamGate {
  /** Whether a call could go out now, without going. */
  peek(group: EndpointGroup): Promise<Entry>
  /** Goes through, or not. Of all processes one alone gets a probe; whoever has a pass reports how its call ended. */
  enter(group: EndpointGroup): Promise<Pass | Closed>
  /** Resolves once what cannot wait is told to the others. Never rejects. */
  report(group: EndpointGroup, call: EndedCall): Promise<void> | undefined
  /** Tells what is left to tell. */
  close(): Promise<void>
}

export interface GateDeps {
  readonly db: Db
  readonly clock: Clock
  readonly log: Logger
  readonly accessToken: string | undefined
}

interface GateParts extends GateDeps {
  readonly view: HealthView
  readonly fingerprint: string
}

export function createUpstreamGate(deps: GateDeps): UpstreamGate {
  const view = createHealthView(deps)
  const parts = { ...deps, view, fingerprint: fingerprintOf(deps.accessToken) }
  const reporter = createHealthReporter(parts)

  async function look(group: EndpointGroup): Promise<EntryFacts> {
    // What this process is just telling it heeds itself.
    if (reporter.telling !== undefined) await reporter.telling
    const { breakers, pausedUntilMs } = await view.current()
    const { fingerprint } = parts
    return { group, states: breakers[group], pausedUntilMs, fingerprint, nowMs: view.nowMs() }
  }

  return {
    peek: async (group) => entryOf(await look(group)),
    async enter(group) {
      const facts = await look(group)
      const entry = entryOf(facts)
      if (entry.kind === 'closed') return entry
      const isOld = statesFor(facts) !== facts.states
      return entry.kind === 'probe' || isOld ? takeProbe(parts, facts) : passAt(facts.nowMs)
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
  { db, log, view, fingerprint }: GateParts,
  { group, pausedUntilMs }: EntryFacts,
): Promise<Pass | Closed> {
  const { entry, probe, before, after } = await inTransaction(db, async (tx) => {
    const { states, nowMs } = await lockBreakers(tx, group)
    const facts = { group, states, pausedUntilMs, fingerprint, nowMs }
    const found = entryOf(facts)
    const lease = { id: randomUUID(), untilMs: nowMs + LEASE_MS[group] }
    const lend = (state: BreakerState) => (found.kind === 'probe' ? withProbe(state, lease) : state)
    const ours = statesFor(facts)
    const lent = { auth: lend(ours.auth), errors: lend(ours.errors) }
    await saveChanged(tx, group, { before: states, after: lent })
    return { entry: found, probe: lease.id, before: states, after: lent }
  })
  view.putStates(group, after)
  logTransitions(log, group, { before, after })
  if (entry.kind === 'closed') return entry
  return { ...passAt(view.nowMs()), ...(entry.kind === 'probe' ? { probe } : {}) }
}

function passAt(madeAtMs: number): Pass {
  return { kind: 'pass', probe: null, madeAtMs }
}

/** Tells two credentials apart, and neither of them to anybody: 32 bits of a hash fit billions of tokens. */
function fingerprintOf(accessToken: string | undefined): string {
  return accessToken === undefined ? 'none' : hash('sha256', accessToken).slice(0, 8)
}
