import type { Clock } from '../../platform/base/clock.ts'
import type { Db, Tx } from '../../platform/db/database.ts'
import { inTransaction } from '../../platform/db/transaction.ts'
import { HORIZON_MS, reserveSlots, type SlotRequest } from './reserve-slots.ts'

/** A slot that is missed by more is discarded: late calls would crowd the calls that are on time. */
const LATE_MS = 1_000
/** How soon a caller without a slot tries again: at the pace of the slots, within these limits. */
const RETRY_MS = { min: 50, max: 1_000 }

/** What a process knows about the database's clock, which times the slots. */
export interface Skew {
  /** The least possible difference: the database's clock minus ours. */
  readonly skewMs: number
  /** How much larger the difference may be: the duration of the query that read the clock. */
  readonly unsureMs: number
}

/** The skew by a time that the database returned. `askedMs` is when the query began, by our clock. */
export function skewOf(
  databaseNow: Date,
  { clock, askedMs }: { clock: Clock; askedMs: number },
): Skew {
  const receivedMs = clock.now().getTime()
  return {
    skewMs: databaseNow.getTime() - receivedMs,
    unsureMs: Math.max(0, receivedMs - askedMs),
  }
}

/** A slot whose time has come. */
export interface TakenSlot {
  /**
   * Whether a call may go out at this slot now. Check it directly before the call: anything awaited in between,
   * especially a database, may outlast the slot, and then all calls that wait for it would go out at once.
   */
  isUsable(): boolean
  /** The database's clock. */
  now(): Date
}

interface WaitOptions extends Skew {
  readonly clock: Clock
  readonly signal: AbortSignal
}

/**
 * Sleeps until a slot. Returns undefined if the slot cannot be used: it is over a second late, or may be, or it is
 * further ahead than any slot is reserved, which means that a clock was set. Rejects when the signal aborts.
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

type CallOptions = Pick<WaitOptions, 'clock' | 'signal'>

/** Takes a slot for a single call, and waits as long as necessary. Rejects when the signal aborts. */
export async function takeSlot(
  db: Db,
  { clock, signal, ...request }: Omit<SlotRequest, 'wanted'> & CallOptions,
): Promise<TakenSlot> {
  const pauseMs = 1000 / request.requestsPerSecond
  for (;;) {
    signal.throwIfAborted()
    const { slot, ...skew } = await reserveOne(db, clock, request)
    if (slot === undefined) {
      await clock.sleep(Math.min(RETRY_MS.max, Math.max(RETRY_MS.min, pauseMs)), signal)
      continue
    }
    const taken = await waitForSlot(slot, { ...skew, clock, signal })
    if (taken !== undefined) return taken
  }
}

/**
 * Takes a slot for a single call if one is free within `withinMs`. Returns undefined if none is, or if it could not be
 * used. Rejects when the signal aborts.
 */
export async function tryTakeSlot(
  db: Db,
  { clock, signal, ...request }: Required<Omit<SlotRequest, 'wanted'>> & CallOptions,
): Promise<TakenSlot | undefined> {
  const { slot, ...skew } = await reserveOne(db, clock, request)
  return slot && waitForSlot(slot, { ...skew, clock, signal })
}

/** Reserves one slot and has it paid for, if one is free. Also returns the skew of the database's clock. */
export async function reserveOne(
  db: Db,
  clock: Clock,
  request: Omit<SlotRequest, 'wanted'>,
  pay?: (tx: Tx) => Promise<unknown>,
): Promise<Skew & { readonly slot: Date | undefined }> {
  return inTransaction(db, async (tx) => {
    const askedMs = clock.now().getTime()
    const { slots, now } = await reserveSlots(tx, { ...request, wanted: 1 })
    const [slot] = slots
    if (slot !== undefined) await pay?.(tx)
    return { slot, ...skewOf(now, { clock, askedMs }) }
  })
}
