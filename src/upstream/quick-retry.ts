import type { Clock } from '../base/clock.ts'
import {
  type Attempt,
  type AttemptDeps,
  attempt,
  type CallRecord,
  type PermittedCall,
  type RunCall,
} from './attempt.ts'
import { acquireInTime, type PermitRequest } from './breaker/acquire-permit.ts'
import type { Permit } from './breaker/admission.ts'
import { classifyOutcome } from './breaker/breaker-signal.ts'
import type { TakenSlot } from './budget/take-slot.ts'

const PAUSE_MS = { min: 100, max: 300 }

/** Failures that often pass within a moment: a proxy or a server that restarts. */
const TRANSIENT_STATUSES = new Set([502, 503, 504])
/** The connection broke before or during the answer. A connection that could not be made is not retried at once. */
const TRANSIENT_REASONS = new Set(['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET'])

/** `mended`: the second call succeeded. `no_slot`: the budget had no near slot, so there was no second call. */
export const QUICK_RETRY_OUTCOMES = ['mended', 'failed', 'no_slot'] as const
export type QuickRetryOutcome = (typeof QUICK_RETRY_OUTCOMES)[number]

export interface QuickRetry {
  readonly endpoint: string
  readonly outcome: QuickRetryOutcome
}

export interface QuickRetryDeps extends AttemptDeps {
  readonly clock: Clock
  /** Uniform in [0, 1). */
  readonly random: () => number
  /** Waits for a near slot. Undefined if none can be had. Without this function nothing is retried. */
  readonly retrySlot: ((signal: AbortSignal) => Promise<TakenSlot | undefined>) | undefined
  /** Called once for every transient failure, to count it. */
  readonly onQuickRetry: ((retry: QuickRetry) => void) | undefined
}

/** Makes a permitted call, and makes it a second time if it failed in a way that often passes within a moment. */
export async function callWithRetry<T>(
  deps: QuickRetryDeps,
  call: PermittedCall,
  run: RunCall<T>,
): Promise<T> {
  const first = await attempt(deps, call, run)
  const { endpoint } = call
  const permit = await acquireRetryPermit(deps, call, first.record)
  if (permit === 'no_slot') deps.onQuickRetry?.({ endpoint, outcome: 'no_slot' })
  if (typeof permit === 'string') return resultOf(first)
  const second = await attempt(deps, { ...call, permit }, run)
  const mended = classifyOutcome(second.record) === 'good'
  deps.onQuickRetry?.({ endpoint, outcome: mended ? 'mended' : 'failed' })
  return resultOf(second)
}

/** Whether a second call may succeed at once. A failure with a requested wait begins a pause, and is not retried. */
export function isTransient({ outcome, status, reason, retryAfterMs }: CallRecord): boolean {
  if (outcome === 'upstream.network') return TRANSIENT_REASONS.has(reason ?? '')
  if (outcome !== 'upstream.http_5xx' || retryAfterMs !== undefined) return false
  return TRANSIENT_STATUSES.has(status ?? 0)
}

/**
 * Waits a moment, takes a slot for the second call and acquires its permit.
 *
 * Returns `none` if there must be no second call: the failure is not transient, or the circuit breaker refuses calls
 * or admits only a probe. Returns `no_slot` if there is no near slot, or the slot passed while the permit was
 * acquired. Rejects when the signal aborts.
 */
async function acquireRetryPermit(
  { clock, random, breaker, retrySlot }: QuickRetryDeps,
  { group, signal }: PermitRequest,
  record: CallRecord,
): Promise<Permit | 'none' | 'no_slot'> {
  if (retrySlot === undefined || !isTransient(record)) return 'none'
  if (breaker !== undefined && (await breaker.admission(group)).kind !== 'allowed') return 'none'
  await clock.sleep(PAUSE_MS.min + Math.floor(random() * (PAUSE_MS.max - PAUSE_MS.min)), signal)
  const slot = await retrySlot(signal).catch(() => {
    signal.throwIfAborted()
    // The database is unavailable. The first failure is the one to report.
    return undefined
  })
  if (slot === undefined) return 'no_slot'
  const permit = await acquireInTime(breaker, group, slot)
  if (permit.kind === 'late') return 'no_slot'
  return permit.kind === 'permit' ? permit : 'none'
}

function resultOf<T>(ended: Attempt<T>): T {
  if ('error' in ended) throw ended.error
  return ended.value
}
