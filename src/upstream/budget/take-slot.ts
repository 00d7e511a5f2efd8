import type { Clock } from '../../base/clock.ts'

/** No slot is given further ahead: what is promised now must hold whatever is learned meanwhile. */
export const HORIZON_MS = 5_000
/** A slot that is missed by more is not used: late calls would crowd those that are on time. */
const LATE_MS = 1_000

/** What a process knows of the database's clock, by which slots are given. */
export interface Skew {
  /** That clock minus ours, at least. */
  readonly skewMs: number
  /** By how much it may be more: as long as the database took to tell its time. */
  readonly unsureMs: number
}

/** What is known by a time that the database told; `askedMs` is when it was asked, by our clock. */
export function skewOf(told: Date, { clock, askedMs }: { clock: Clock; askedMs: number }): Skew {
  const heardMs = clock.now().getTime()
  return { skewMs: told.getTime() - heardMs, unsureMs: Math.max(0, heardMs - askedMs) }
}

/** A slot that has come. */
export interface TakenSlot {
  /**
   * Whether a call may go out at it now. To be asked directly before the call: whatever is awaited in between, a
   * database above all, may outlast the slot, and all calls that wait for the same would then go out at once.
   */
  isUsable(): boolean
  /** The database's clock. */
  now(): Date
}

export interface WaitOptions extends Skew {
  readonly clock: Clock
  readonly signal: AbortSignal
}

/**
 * Sleeps until a slot; undefined when it cannot be used: it is over a second late, or may be, or lies further ahead
 * than any slot is given, which means that a clock was set. Rejects when the signal aborts.
 */
export async function waitForSlot(
  slot: Date,
  { clock, skewMs, unsureMs, signal }: WaitOptions,
): Promise<TakenSlot | undefined> {
  signal.throwIfAborted()
  const nowMs = () => clock.now().getTime() + skewMs
  const waitMs = slot.getTime() - nowMs()
  if (waitMs > HORIZON_MS + LATE_MS) return undefined
  if (waitMs > 0) await clock.sleep(Math.ceil(waitMs), signal)
  const taken = {
    isUsable: () => nowMs() + unsureMs <= slot.getTime() + LATE_MS,
    now: () => new Date(nowMs()),
  }
  return taken.isUsable() ? taken : undefined
}
