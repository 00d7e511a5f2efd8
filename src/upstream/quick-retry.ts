import type { Clock } from '../base/clock.ts'
import { acquireInTime } from './breaker/acquire-permit.ts'
import type { EndpointGroup } from './breaker/breaker-state.ts'
import type { Permit } from './breaker/call-reporter.ts'
import type { CircuitBreaker } from './breaker/circuit-breaker.ts'
import type { TakenSlot } from './budget/take-slot.ts'
import type { CallRecord } from './call-record.ts'

const PAUSE_MS = { min: 100, max: 300 }

/** Failures of a moment: a proxy that restarts, a server that takes its leave. */
const PASSING_STATUSES = new Set([502, 503, 504])
/** The connection broke, before or in the answer; one that never came about will not come about a moment later. */
const PASSING_REASONS = new Set(['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET'])

/** `mended`: the second call was answered; `no_slot`: the budget had none to spare, and there was no second call. */
export const QUICK_RETRY_OUTCOMES = ['mended', 'failed', 'no_slot'] as const
export type QuickRetryOutcome = (typeof QUICK_RETRY_OUTCOMES)[number]

export interface QuickRetryDeps {
  readonly clock: Clock
  /** Uniform in [0, 1). */
  readonly random: () => number
  readonly breaker: CircuitBreaker | undefined
  /** Waits for a slot that lies near; undefined where none can be had. Absent: nothing is asked twice. */
  readonly retrySlot: ((signal: AbortSignal) => Promise<TakenSlot | undefined>) | undefined
}

/** Whether a call failed in a way that asking at once may mend. A wait that was asked for is a pause, not a retry. */
export function isPassing({ outcome, status, reason, retryAfterMs }: CallRecord): boolean {
  if (outcome === 'upstream.network') return PASSING_REASONS.has(reason ?? '')
  if (outcome !== 'upstream.http_5xx' || retryAfterMs !== undefined) return false
  return PASSING_STATUSES.has(status ?? 0)
}

/**
 * Waits a moment, takes a slot for the second call and passes the breaker.
 *
 * `none` where there is to be no second call: the failure will not pass, or the breaker is closed, also for a probe's
 * sake. `no_slot` where none can be had, or it has passed at the breaker. Rejects when the signal aborts.
 */
export async function takeQuickRetry(
  { clock, random, breaker, retrySlot }: QuickRetryDeps,
  { group, record, signal }: { group: EndpointGroup; record: CallRecord; signal: AbortSignal },
): Promise<Permit | 'none' | 'no_slot'> {
  if (retrySlot === undefined || !isPassing(record)) return 'none'
  if (breaker !== undefined && (await breaker.admission(group)).kind !== 'allowed') return 'none'
  await clock.sleep(PAUSE_MS.min + Math.floor(random() * (PAUSE_MS.max - PAUSE_MS.min)), signal)
  const slot = await retrySlot(signal).catch(() => {
    signal.throwIfAborted()
    // The store is away: the first failure is the one to tell.
    return undefined
  })
  if (slot === undefined) return 'no_slot'
  const entered = await acquireInTime(breaker, group, slot)
  if (entered.kind === 'late') return 'no_slot'
  return entered.kind === 'permit' ? entered : 'none'
}
