import type { TakenSlot } from '../budget/take-slot.ts'
import { UpstreamCircuitOpenError, UpstreamSlotMissedError } from '../upstream-errors.ts'
import type { Permit, Refusal } from './admission.ts'
import type { EndpointGroup } from './breaker-state.ts'
import type { CircuitBreaker } from './circuit-breaker.ts'

/** The permit of a client without a circuit breaker. */
const UNCONDITIONAL: Permit = { kind: 'permit', probe: null, madeAtMs: 0 }
/** Reported for a permit that was not used. The breakers ignore it, and release its probe. */
const NOT_MADE = { outcome: 'aborted', status: undefined } as const

export interface PermitRequest {
  readonly endpoint: string
  readonly group: EndpointGroup
  readonly signal: AbortSignal
}

/**
 * Acquires a permit, and checks the slot again afterwards: the permit may need a query, which can take longer than a
 * slot remains valid. The caller must make the call at once.
 */
export async function acquireInTime(
  breaker: CircuitBreaker | undefined,
  group: EndpointGroup,
  slot: TakenSlot | undefined,
): Promise<Permit | Refusal | { readonly kind: 'late' }> {
  const permit = breaker === undefined ? UNCONDITIONAL : await breaker.acquirePermit(group)
  if (permit.kind === 'refused' || slot === undefined || slot.isUsable()) return permit
  await breaker?.report(group, { record: NOT_MADE, permit })
  return { kind: 'late' }
}

/** Acquires the permit for a call at a slot. Throws UpstreamCircuitOpenError or UpstreamSlotMissedError. */
export async function acquirePermit(
  breaker: CircuitBreaker | undefined,
  { endpoint, group }: PermitRequest,
  slot: TakenSlot | undefined,
): Promise<Permit> {
  const permit = await acquireInTime(breaker, group, slot)
  if (permit.kind === 'refused') throw circuitOpenError(endpoint, permit)
  if (permit.kind === 'late') throw new UpstreamSlotMissedError({ endpoint })
  return permit
}

/**
 * Takes a slot of the budget, then acquires the permit for a call at it. Takes another slot if the slot passes in
 * between. Throws UpstreamCircuitOpenError.
 *
 * A refusal is thrown before a slot is taken. The budget grants no slots during a pause, so the call would otherwise
 * wait for minutes and appear stalled.
 */
export async function acquirePermitWithSlot(
  breaker: CircuitBreaker | undefined,
  { endpoint, group, signal }: PermitRequest,
  takeSlot: ((signal: AbortSignal) => Promise<TakenSlot>) | undefined,
): Promise<Permit> {
  for (;;) {
    const admission = await breaker?.admission(group)
    if (admission?.kind === 'refused') throw circuitOpenError(endpoint, admission)
    const slot = await takeSlot?.(signal)
    const permit = await acquireInTime(breaker, group, slot)
    if (permit.kind === 'permit') return permit
    if (permit.kind === 'refused') throw circuitOpenError(endpoint, permit)
  }
}

/** Throws UpstreamCircuitOpenError during a pause. Ignores the breakers. */
export async function assertNotPaused(breaker: CircuitBreaker, endpoint: string): Promise<void> {
  const admission = await breaker.admission('verify')
  if (admission.kind !== 'refused' || admission.by !== 'pause') return
  throw circuitOpenError(endpoint, admission)
}

function circuitOpenError(
  endpoint: string,
  { by, untilMs, cause }: Refusal,
): UpstreamCircuitOpenError {
  return new UpstreamCircuitOpenError({ endpoint, by, cause, until: new Date(untilMs) })
}
