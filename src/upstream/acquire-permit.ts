import type { EndpointGroup, Refusal } from './breaker/breaker-state.ts'
import type { CircuitBreaker, Permit } from './breaker/circuit-breaker.ts'
import type { TakenSlot } from './budget/take-slot.ts'
import { UpstreamCircuitOpenError, UpstreamSlotMissedError } from './upstream-errors.ts'

export type Breaker = Pick<CircuitBreaker, 'admission' | 'acquirePermit' | 'report'>

/** The permit of a client without a circuit breaker. */
const UNCONDITIONAL: Permit = { kind: 'permit', probe: null, madeAtMs: 0 }
/** Reported for a permit that was not used. Releases its probe. */
const NOT_MADE = { outcome: 'aborted', status: undefined }

export interface PermitRequest {
  readonly endpoint: string
  readonly group: EndpointGroup
  readonly signal: AbortSignal
}

/**
 * Acquires the permit for a call at a slot, which the caller must make at once. Throws UpstreamCircuitOpenError, or
 * UpstreamSlotMissedError: the permit may need a query, which can take longer than a slot remains valid.
 */
export async function acquirePermit(
  breaker: Breaker | undefined,
  { endpoint, group }: Omit<PermitRequest, 'signal'>,
  slot: TakenSlot | undefined,
): Promise<Permit> {
  const permit = breaker === undefined ? UNCONDITIONAL : await breaker.acquirePermit(group)
  if (permit.kind === 'refused') throw circuitOpenError(endpoint, permit)
  if (slot === undefined || slot.isUsable()) return permit
  await breaker?.report(group, NOT_MADE, permit)
  throw new UpstreamSlotMissedError({ endpoint })
}

/**
 * Takes a slot of the budget, then acquires the permit for a call at it. Takes another slot if the slot passes in
 * between. Throws UpstreamCircuitOpenError.
 *
 * A refusal is thrown before a slot is taken. The budget grants no slots during a pause, so the call would otherwise
 * wait for minutes and appear stalled.
 */
export async function acquirePermitWithSlot(
  breaker: Breaker | undefined,
  request: PermitRequest,
  takeSlot: ((signal: AbortSignal) => Promise<TakenSlot>) | undefined,
): Promise<Permit> {
  for (;;) {
    const admission = await breaker?.admission(request.group)
    if (admission?.kind === 'refused') throw circuitOpenError(request.endpoint, admission)
    const slot = await takeSlot?.(request.signal)
    try {
      return await acquirePermit(breaker, request, slot)
    } catch (err) {
      if (!(err instanceof UpstreamSlotMissedError)) throw err
    }
  }
}

/** Throws UpstreamCircuitOpenError during a pause. Ignores the breakers. */
export async function assertNotPaused(breaker: Breaker, endpoint: string): Promise<void> {
  const admission = await breaker.admission('verify')
  if (admission.kind !== 'refused' || admission.by !== 'pause') return
  throw circuitOpenError(endpoint, admission)
}

function circuitOpenError(endpoint: string, { by, untilMs, cause }: Refusal) {
  return new UpstreamCircuitOpenError({ endpoint, by, cause, until: new Date(untilMs) })
}
