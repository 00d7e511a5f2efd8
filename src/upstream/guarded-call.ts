import { type CallRecord, type RecordDeps, recorded } from './call-record.ts'
import type { EndpointGroup } from './health/breaker.ts'
import { verdictOf } from './health/call-verdict.ts'
import type { Pass } from './health/health-reporter.ts'
import type { Closed, UpstreamGate } from './health/upstream-gate.ts'
import {
  type QuickRetryDeps,
  type QuickRetryOutcome,
  takeQuickRetry,
  UNGUARDED,
} from './quick-retry.ts'
import { UpstreamCircuitOpenError } from './upstream-errors.ts'

export interface GuardDeps extends RecordDeps, Omit<QuickRetryDeps, 'gate'> {
  readonly gate: UpstreamGate | undefined
  /** Called once for every failure that might have passed, to count it. */
  readonly onQuickRetry: ((retry: QuickRetry) => void) | undefined
}

export interface QuickRetry {
  readonly endpoint: string
  readonly outcome: QuickRetryOutcome
}

export interface GuardedCall {
  readonly endpoint: string
  readonly group: EndpointGroup
  readonly signal: AbortSignal
}

/** Passes the gate. Throws UpstreamCircuitOpenError where it is closed. */
export async function passGate(
  gate: UpstreamGate | undefined,
  { endpoint, group }: GuardedCall,
): Promise<Pass> {
  const entered = gate === undefined ? UNGUARDED : await gate.enter(group)
  if (entered.kind === 'closed') throw closedError(endpoint, entered)
  return entered
}

/**
 * The same for a call that waits for its slot of the budget first. A breaker that is open says so before a slot is
 * spent; a pause is waited out, for while it lasts no slot is given.
 */
export async function passGateWithSlot(
  gate: UpstreamGate | undefined,
  call: GuardedCall,
  waitForSlot: ((signal: AbortSignal) => Promise<void>) | undefined,
): Promise<Pass> {
  for (;;) {
    const seen = await gate?.peek(call.group)
    if (seen?.kind === 'closed' && (seen.by !== 'pause' || waitForSlot === undefined)) {
      throw closedError(call.endpoint, seen)
    }
    await waitForSlot?.(call.signal)
    const entered = gate === undefined ? UNGUARDED : await gate.enter(call.group)
    if (entered.kind === 'pass') return entered
    if (entered.by !== 'pause' || waitForSlot === undefined) {
      throw closedError(call.endpoint, entered)
    }
  }
}

/** Makes a call that has its pass, tells the gate how it ended, and makes it a second time where that may help. */
export async function guardedCall<T>(
  deps: GuardDeps,
  call: GuardedCall & { readonly pass: Pass },
  run: (record: CallRecord) => Promise<T>,
): Promise<T> {
  const first = await attempt(deps, call, run)
  const { endpoint, group, signal } = call
  const pass = await takeQuickRetry(deps, { group, signal, record: first.record })
  if (pass === 'no_slot') deps.onQuickRetry?.({ endpoint, outcome: 'no_slot' })
  if (typeof pass === 'string') return resultOf(first)
  const second = await attempt(deps, { ...call, pass }, run)
  const mended = verdictOf(second.record) === 'good'
  deps.onQuickRetry?.({ endpoint, outcome: mended ? 'mended' : 'failed' })
  return resultOf(second)
}

type Attempt<T> = { readonly record: CallRecord } & (
  | { readonly value: T }
  | { readonly error: unknown }
)

async function attempt<T>(
  deps: GuardDeps,
  { endpoint, group, signal, pass }: GuardedCall & { readonly pass: Pass },
  run: (record: CallRecord) => Promise<T>,
): Promise<Attempt<T>> {
  let record: CallRecord = { status: undefined, bytes: 0, outcome: 'internal' }
  const noted = (own: CallRecord) => {
    record = own
    return run(own)
  }
  try {
    const value = await recorded(deps, { endpoint, signal }, noted)
    return { record, value }
  } catch (error) {
    return { record, error }
  } finally {
    await deps.gate?.report(group, { record, pass })
  }
}

function resultOf<T>(ended: Attempt<T>): T {
  if ('error' in ended) throw ended.error
  return ended.value
}

function closedError(endpoint: string, { by, untilMs }: Closed): UpstreamCircuitOpenError {
  return new UpstreamCircuitOpenError({ endpoint, by, until: new Date(untilMs) })
}
