import type { TakenSlot } from '../budget/take-slot.ts'
import { UpstreamCircuitOpenError, UpstreamSlotMissedError } from '../upstream-errors.ts'
import type { EndpointGroup } from './breaker-state.ts'
import type { Permit } from './call-reporter.ts'
import type { CircuitBreaker, Refusal } from './circuit-breaker.ts'

/** Where there is no breaker. */
const UNGUARDED: Permit = { kind: 'permit', probe: null, madeAtMs: 0 }
/** To the breakers, a call that said nothing. */
const NOT_ASKED = { outcome: 'aborted', status: undefined } as const

export interface PermitRequest {
  readonly endpoint: string
  readonly group: EndpointGroup
  readonly signal: AbortSignal
}

/**
 * Goes through the breaker, and looks at the slot once more behind it: the breaker asks the database, which may take longer
 * than a slot keeps. Whoever has the pass calls at once.
 */
export async function acquireInTime(
  breaker: CircuitBreaker | undefined,
  group: EndpointGroup,
  slot: TakenSlot | undefined,
): Promise<Permit | Refusal | { readonly kind: 'late' }> {
  const entered = breaker === undefined ? UNGUARDED : await breaker.acquirePermit(group)
  if (entered.kind === 'refused' || slot === undefined || slot.isUsable()) return entered
  await breaker?.report(group, { record: NOT_ASKED, permit: entered })
  return { kind: 'late' }
}

/** Passes the breaker at a slot. Throws UpstreamCircuitOpenError where it is closed, UpstreamSlotMissedError where it took too long. */
export async function acquirePermit(
  breaker: CircuitBreaker | undefined,
  { endpoint, group }: PermitRequest,
  slot: TakenSlot | undefined,
): Promise<Permit> {
  const entered = await acquireInTime(breaker, group, slot)
  if (entered.kind === 'refused') throw circuitOpenError(endpoint, entered)
  if (entered.kind === 'late') throw new UpstreamSlotMissedError({ endpoint })
  return entered
}

/**
 * The same for a call that waits for its slot of the budget first, and takes another where that has passed. A breaker that
 * is closed says so before a slot is spent: while a pause lasts none is given, and who waits for minutes looks wedged.
 */
export async function acquirePermitWithSlot(
  breaker: CircuitBreaker | undefined,
  call: PermitRequest,
  takeSlot: ((signal: AbortSignal) => Promise<TakenSlot>) | undefined,
): Promise<Permit> {
  for (;;) {
    const seen = await breaker?.admission(call.group)
    if (seen?.kind === 'refused') throw circuitOpenError(call.endpoint, seen)
    const slot = await takeSlot?.(call.signal)
    const entered = await acquireInTime(breaker, call.group, slot)
    if (entered.kind === 'permit') return entered
    if (entered.kind === 'refused') throw circuitOpenError(call.endpoint, entered)
  }
}

/** Throws UpstreamCircuitOpenError while the upstream has asked us to pause, whatever the breakers say. */
export async function assertNotPaused(breaker: CircuitBreaker, endpoint: string): Promise<void> {
  const seen = await breaker.admission('verify')
  if (seen.kind === 'refused' && seen.by === 'pause') throw circuitOpenError(endpoint, seen)
}

function circuitOpenError(endpoint: string, { by, untilMs }: Refusal): UpstreamCircuitOpenError {
  return new UpstreamCircuitOpenError({ endpoint, by, until: new Date(untilMs) })
}
