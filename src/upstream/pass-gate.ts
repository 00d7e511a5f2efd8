import type { EndpointGroup } from './health/breaker.ts'
import type { Pass } from './health/health-reporter.ts'
import type { Closed, UpstreamGate } from './health/upstream-gate.ts'
import type { TakenSlot } from './taken-slot.ts'
import { UpstreamCircuitOpenError, UpstreamSlotMissedError } from './upstream-errors.ts'

/** Where there is no gate. */
const UNGUARDED: Pass = { kind: 'pass', probe: null, madeAtMs: 0 }
/** To the breakers, a call that said nothing. */
const NOT_ASKED = { outcome: 'aborted', status: undefined } as const

export interface GatedCall {
  readonly endpoint: string
  readonly group: EndpointGroup
  readonly signal: AbortSignal
}

/**
 * Goes through the gate, and looks at the slot once more behind it: the gate asks the database, which may take longer
 * than a slot keeps. Whoever has the pass calls at once.
 */
export async function enterInTime(
  gate: UpstreamGate | undefined,
  group: EndpointGroup,
  slot: TakenSlot | undefined,
): Promise<Pass | Closed | { readonly kind: 'late' }> {
  const entered = gate === undefined ? UNGUARDED : await gate.enter(group)
  if (entered.kind === 'closed' || slot === undefined || slot.isUsable()) return entered
  await gate?.report(group, { record: NOT_ASKED, pass: entered })
  return { kind: 'late' }
}

/** Passes the gate at a slot. Throws UpstreamCircuitOpenError where it is closed, UpstreamSlotMissedError where it took too long. */
export async function passGate(
  gate: UpstreamGate | undefined,
  { endpoint, group }: GatedCall,
  slot: TakenSlot | undefined,
): Promise<Pass> {
  const entered = await enterInTime(gate, group, slot)
  if (entered.kind === 'closed') throw closedError(endpoint, entered)
  if (entered.kind === 'late') throw new UpstreamSlotMissedError({ endpoint })
  return entered
}

/**
 * The same for a call that waits for its slot of the budget first, and takes another where that has passed. A gate that
 * is closed says so before a slot is spent: while a pause lasts none is given, and who waits for minutes looks wedged.
 */
export async function passGateWithSlot(
  gate: UpstreamGate | undefined,
  call: GatedCall,
  takeSlot: ((signal: AbortSignal) => Promise<TakenSlot>) | undefined,
): Promise<Pass> {
  for (;;) {
    const seen = await gate?.peek(call.group)
    if (seen?.kind === 'closed') throw closedError(call.endpoint, seen)
    const slot = await takeSlot?.(call.signal)
    const entered = await enterInTime(gate, call.group, slot)
    if (entered.kind === 'pass') return entered
    if (entered.kind === 'closed') throw closedError(call.endpoint, entered)
  }
}

/** Throws UpstreamCircuitOpenError while the upstream has asked us to pause, whatever the breakers say. */
export async function assertNotPaused(gate: UpstreamGate, endpoint: string): Promise<void> {
  const seen = await gate.peek('verify')
  if (seen.kind === 'closed' && seen.by === 'pause') throw closedError(endpoint, seen)
}

function closedError(endpoint: string, { by, untilMs }: Closed): UpstreamCircuitOpenError {
  return new UpstreamCircuitOpenError({ endpoint, by, until: new Date(untilMs) })
}
