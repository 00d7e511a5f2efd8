import type { Clock } from '../../base/clock.ts'
import { messageOf } from '../../base/errors.ts'
import type { Logger } from '../../base/logger.ts'
import type { Db } from '../../db/database.ts'
import { inTransaction } from '../../db/transaction.ts'
import { lockThrottle, saveThrottle } from '../budget/budget-store.ts'
import { isPaused, type PauseRequest, throttled } from '../budget/throttle.ts'
import type { Permit } from './admission.ts'
import {
  breakerSignal,
  type CallEnd,
  causeOf,
  classifyOutcome,
  createTally,
} from './breaker-signal.ts'
import {
  applyOutcomes,
  BREAKERS,
  ENDPOINT_GROUPS,
  type EndpointGroup,
  RULES,
} from './breaker-state.ts'
import { type HealthView, lockBreakers, logTransitions, saveChanged } from './breaker-store.ts'

export interface EndedCall {
  readonly record: CallEnd
  readonly permit: Permit
}

export interface ReporterDeps {
  readonly db: Db
  readonly clock: Clock
  readonly log: Logger
  readonly view: HealthView
  readonly fingerprint: string
}

/** Writes the outcomes of this process's calls to the state that all processes share. */
export interface CallReporter {
  /** Resolves when what is urgent is written: a refusal, a pause, the end of a probe. Never rejects. */
  report(group: EndpointGroup, call: EndedCall): Promise<void> | undefined
  /** The running write, if any. */
  readonly flushing: Promise<void> | undefined
  /** Writes what is pending. */
  close(): Promise<void>
}

const createTallies = () => ({ auth: createTally(), errors: createTally() })
type Tallies = ReturnType<typeof createTallies>

export function createCallReporter(deps: ReporterDeps): CallReporter {
  const { view } = deps
  const tallies = { lists: createTallies(), verify: createTallies() }
  let pause: PauseRequest | undefined
  const scheduler = createFlushScheduler(deps, async () => {
    const requested = pause
    pause = undefined
    if (requested !== undefined) await writePause(deps, requested)
    for (const group of ENDPOINT_GROUPS) {
      if (mustWrite(view, group, tallies[group])) await writeGroup(deps, group, tallies[group])
    }
  })
  return {
    report(group, { record, permit: { probe, madeAtMs } }) {
      const outcome = classifyOutcome(record)
      const nowMs = view.nowMs()
      for (const name of BREAKERS) {
        const signal = breakerSignal(name, outcome)
        tallies[group][name].add({ signal, cause: causeOf(record), madeAtMs, nowMs, probe })
      }
      const requested = pauseRequestOf(record, madeAtMs)
      if (requested !== undefined) pause = merged(pause, requested)
      if (outcome === 'refused' || requested !== undefined || probe !== null)
        return scheduler.flush()
      if (mustWrite(view, group, tallies[group])) scheduler.flushSoon()
      return undefined
    },
    get flushing() {
      return scheduler.flushing
    },
    close: () => scheduler.close(),
  }
}

/**
 * Nothing is written while all calls succeed. The rows are written if a call of this process failed, or if a call of
 * any process failed lately: then the successes of this process count too.
 */
function mustWrite(view: HealthView, group: EndpointGroup, tallies: Tallies): boolean {
  if (BREAKERS.some((name) => tallies[name].urgent)) return true
  const states = view.known()?.breakers[group]
  if (states === undefined) return false
  return BREAKERS.some((name) => {
    const { open, failuresInARow, window } = states[name]
    return open === null && (failuresInARow > 0 || window.length > 0) && !tallies[name].empty
  })
}

/** Rows are locked in one order, and never together with the row of the budget. */
async function writeGroup(
  { db, log, view, fingerprint }: ReporterDeps,
  group: EndpointGroup,
  tallies: Tallies,
): Promise<void> {
  const outcomes = { auth: tallies.auth.take(), errors: tallies.errors.take() }
  const { before, after } = await inTransaction(db, async (tx) => {
    const { states, nowMs } = await lockBreakers(tx, group)
    const { auth, errors } = RULES[group]
    const applied = {
      auth: applyOutcomes(states.auth, outcomes.auth, { rule: auth, nowMs, fingerprint }),
      errors: applyOutcomes(states.errors, outcomes.errors, { rule: errors, nowMs, fingerprint }),
    }
    await saveChanged(tx, group, { before: states, after: applied })
    return { before: states, after: applied }
  })
  view.putStates(group, after)
  logTransitions(log, group, { before, after })
}

async function writePause({ db, log, view }: ReporterDeps, pause: PauseRequest): Promise<void> {
  // This process stops at once, whether or not the transaction succeeds.
  const knownMs = view.known()?.pausedUntilMs ?? 0
  view.putPause(Math.max(knownMs, view.nowMs() + (pause.retryAfterMs ?? 0)))
  const { before, after, nowMs } = await inTransaction(db, async (tx) => {
    const locked = await lockThrottle(tx)
    const next = throttled(locked.throttle, pause, locked.nowMs)
    await saveThrottle(tx, next)
    return { before: locked.throttle, after: next, nowMs: locked.nowMs }
  })
  view.putPause(after.pausedUntilMs)
  if (isPaused(before, nowMs)) return
  const until = new Date(after.pausedUntilMs).toISOString()
  log.warn({ until, budgetShare: after.share }, 'the upstream asked us to pause')
}

function pauseRequestOf(record: CallEnd, madeAtMs: number): PauseRequest | undefined {
  const { status, retryAfterMs } = record
  if (classifyOutcome(record) === 'rate_limited')
    return { retryAfterMs, lowersBudget: true, madeAtMs }
  if (status !== 503 || retryAfterMs === undefined) return undefined
  return { retryAfterMs, lowersBudget: false, madeAtMs }
}

function merged(one: PauseRequest | undefined, other: PauseRequest): PauseRequest {
  if (one === undefined) return other
  const named = [one.retryAfterMs, other.retryAfterMs].filter((ms) => ms !== undefined)
  return {
    retryAfterMs: named.length === 0 ? undefined : Math.max(...named),
    lowersBudget: one.lowersBudget || other.lowersBudget,
    madeAtMs: Math.max(one.madeAtMs, other.madeAtMs),
  }
}

/** Outcomes are written together, at most this long after they occur. */
const FLUSH_EVERY_MS = 250

/** Decides when counted outcomes are written. Only one write runs at a time. */
interface FlushScheduler {
  /** Writes now, or directly after the running write. Never rejects. */
  flush(): Promise<void>
  /** Writes a little later, together with what is counted until then. */
  flushSoon(): void
  readonly flushing: Promise<void> | undefined
  /** Writes what is pending. */
  close(): Promise<void>
}

/** A failed write is not repeated: its counts would be out of date, and the lease of a lost probe ends by itself. */
function createFlushScheduler(
  { clock, log }: { clock: Clock; log: Logger },
  write: () => Promise<void>,
): FlushScheduler {
  const closing = new AbortController()
  let flushing: Promise<void> | undefined
  let scheduled: Promise<void> | undefined

  function flush(): Promise<void> {
    const written = (flushing ?? Promise.resolve()).then(write).catch((err: unknown) => {
      log.warn({ reason: messageOf(err) }, 'the upstream health could not be written')
    })
    flushing = written
    void written.then(() => {
      if (flushing === written) flushing = undefined
    })
    return written
  }

  return {
    flush,
    flushSoon() {
      scheduled ??= clock
        .sleep(FLUSH_EVERY_MS, closing.signal)
        .catch(() => undefined)
        .then(() => {
          scheduled = undefined
          return flush()
        })
    },
    get flushing() {
      return flushing
    },
    async close() {
      closing.abort()
      await scheduled
      await flushing
    },
  }
}
