import type { Clock } from '../../base/clock.ts'
import type { Logger } from '../../base/logger.ts'
import type { Db } from '../../db/database.ts'
import { inTransaction } from '../../db/transaction.ts'
import { isPaused, type PauseHint, throttled } from '../budget/throttle.ts'
import type { CallRecord } from '../call-record.ts'
import { meaningFor, type Verdict, verdictOf } from './breaker-signal.ts'
import { BREAKERS, ENDPOINT_GROUPS, type EndpointGroup, RULES, settle } from './breaker-state.ts'
import { lockBreakers, lockThrottle, saveThrottle } from './breaker-store.ts'
import { createTally } from './call-tally.ts'
import { createTeller } from './flush-scheduler.ts'
import { logTransitions } from './health-log.ts'
import type { HealthView } from './health-view.ts'
import { saveChanged } from './save-changed.ts'

export interface EndedCall {
  readonly record: Pick<CallRecord, 'outcome' | 'status' | 'reason' | 'retryAfterMs'>
  readonly permit: Permit
}

export interface ReporterDeps {
  readonly db: Db
  readonly clock: Clock
  readonly log: Logger
  readonly view: HealthView
  readonly fingerprint: string
}

/** A call may go out; `probe` where it is the one by which a breaker finds out. */
export interface Permit {
  readonly kind: 'permit'
  readonly probe: string | null
  /** When it was given, in milliseconds by the database's clock. */
  readonly madeAtMs: number
}

/** Tells the shared state what the calls of this process met. */
export interface HealthReporter {
  /** Resolves once what cannot wait is told: a refusal, a pause, the end of a probe. Never rejects. */
  report(group: EndpointGroup, call: EndedCall): Promise<void> | undefined
  /** What is being told now, if anything. */
  readonly telling: Promise<void> | undefined
  /** Tells the rest. */
  close(): Promise<void>
}

const createTallies = () => ({ auth: createTally(), errors: createTally() })

export function createHealthReporter(deps: ReporterDeps): HealthReporter {
  const { view } = deps
  const tallies = { lists: createTallies(), verify: createTallies() }
  let hint: PauseHint | undefined
  const teller = createTeller(deps, async () => {
    const heard = hint
    hint = undefined
    if (heard !== undefined) await tellPause(deps, heard)
    for (const group of ENDPOINT_GROUPS) {
      if (isWorthTelling(view, group, tallies[group])) await tellGroup(deps, group, tallies[group])
    }
  })
  return {
    report(group, { record, permit: { probe, madeAtMs } }) {
      const verdict = verdictOf(record)
      const nowMs = view.nowMs()
      for (const name of BREAKERS) {
        tallies[group][name].add({ meaning: meaningFor(name, verdict), madeAtMs, nowMs, probe })
      }
      const asked = hintOf(verdict, record)
      if (asked !== undefined) hint = merged(hint, asked)
      const cannotWait = verdict === 'refused' || verdict === 'forbidden'
      if (cannotWait || asked !== undefined || probe !== null) return teller.tell()
      if (isWorthTelling(view, group, tallies[group])) teller.tellSoon()
      return undefined
    },
    get telling() {
      return teller.telling
    },
    close: () => teller.close(),
  }
}

type Tallies = ReturnType<typeof createTallies>

/**
 * While all is well nothing is: the row is written only where a call failed, here, or lately anywhere, so that the
 * successes of the others count too.
 */
function isWorthTelling(view: HealthView, group: EndpointGroup, tallies: Tallies): boolean {
  if (BREAKERS.some((name) => tallies[name].pressing)) return true
  const states = view.known()?.breakers[group]
  if (states === undefined) return false
  return BREAKERS.some((name) => {
    const { open, failuresInARow, window } = states[name]
    return open === null && (failuresInARow > 0 || window.length > 0) && !tallies[name].empty
  })
}

/** Rows are locked in one order, and never beside the row of the budget. */
async function tellGroup(
  { db, log, view, fingerprint }: ReporterDeps,
  group: EndpointGroup,
  tallies: Tallies,
): Promise<void> {
  const outcomes = { auth: tallies.auth.take(), errors: tallies.errors.take() }
  const { before, after } = await inTransaction(db, async (tx) => {
    const { states, nowMs } = await lockBreakers(tx, group)
    const moment = (rule: (typeof RULES)['lists']['auth']) => ({ rule, nowMs, fingerprint })
    const settled = {
      auth: settle(states.auth, outcomes.auth, moment(RULES[group].auth)),
      errors: settle(states.errors, outcomes.errors, moment(RULES[group].errors)),
    }
    await saveChanged(tx, group, { before: states, after: settled })
    return { before: states, after: settled }
  })
  view.putStates(group, after)
  logTransitions(log, group, { before, after })
}

async function tellPause({ db, log, view }: ReporterDeps, hint: PauseHint): Promise<void> {
  // This process stops at once, whatever becomes of the transaction.
  const knownMs = view.known()?.pausedUntilMs ?? 0
  view.putPause(Math.max(knownMs, view.nowMs() + (hint.retryAfterMs ?? 0)))
  const { before, after, nowMs } = await inTransaction(db, async (tx) => {
    const locked = await lockThrottle(tx)
    const next = throttled(locked.throttle, hint, locked.nowMs)
    await saveThrottle(tx, next)
    return { before: locked.throttle, after: next, nowMs: locked.nowMs }
  })
  view.putPause(after.pausedUntilMs)
  if (isPaused(before, nowMs)) return
  const until = new Date(after.pausedUntilMs).toISOString()
  log.warn({ until, budgetShare: after.share }, 'the upstream asked us to pause')
}

function hintOf(
  verdict: Verdict,
  { status, retryAfterMs }: EndedCall['record'],
): PauseHint | undefined {
  if (verdict === 'limited') return { retryAfterMs, lowers: true }
  return status === 503 && retryAfterMs !== undefined ? { retryAfterMs, lowers: false } : undefined
}

function merged(one: PauseHint | undefined, other: PauseHint): PauseHint {
  if (one === undefined) return other
  const named = [one.retryAfterMs, other.retryAfterMs].filter((ms) => ms !== undefined)
  return {
    retryAfterMs: named.length === 0 ? undefined : Math.max(...named),
    lowers: one.lowers || other.lowers,
  }
}
