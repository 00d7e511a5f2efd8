import type { Clock } from '../../base/clock.ts'
import { AppError } from '../../base/errors.ts'
import { createSemaphore } from '../../base/semaphore.ts'
import type { Db } from '../../db/database.ts'
import { reserveOne } from '../../upstream/budget/reserve-slots.ts'
import { type Skew, type TakenSlot, waitForSlot } from '../../upstream/budget/take-slot.ts'

/** The budget has no slot near enough for one who waits. `retryAfterMs` is when it may be worth asking again. */
export class NoSlotError extends AppError {
  override readonly name = 'NoSlotError'
  override readonly code = 'verify.no_slot'
  override readonly retryable = true
  readonly retryAfterMs = RETRY_AFTER_MS

  constructor(patienceMs: number) {
    super(`the budget had no slot for a check on demand within ${patienceMs} ms`)
  }
}

/** As far ahead as slots are given: what is taken now is free then. */
const RETRY_AFTER_MS = 5_000
const PAUSE_MS = { min: 50, max: 1_000 }

export interface SlotLineDeps {
  readonly db: Db
  readonly clock: Clock
  readonly requestsPerSecond: number
  /** How long one waits for a slot to be given; it may then lie five seconds ahead. */
  readonly patienceMs: number
}

/**
 * Makes the line in which this process's checks on demand wait for slots: first come, first served, and one alone at
 * the budget, whose row every worker needs. Throws NoSlotError, and the signal's reason when it aborts.
 */
export function createSlotLine(deps: SlotLineDeps): (signal: AbortSignal) => Promise<TakenSlot> {
  const line = createSemaphore(1)
  const { clock, patienceMs } = deps
  return async (signal) => {
    const endMs = clock.now().getTime() + patienceMs
    for (;;) {
      const { slot, ...skew } = await line(() => reserveUntil(deps, endMs, signal))
      const taken = await waitForSlot(slot, { ...skew, clock, signal })
      if (taken !== undefined) return taken
    }
  }
}

async function reserveUntil(
  { db, clock, requestsPerSecond, patienceMs }: SlotLineDeps,
  endMs: number,
  signal: AbortSignal,
): Promise<Skew & { readonly slot: Date }> {
  const pauseMs = Math.min(PAUSE_MS.max, Math.max(PAUSE_MS.min, 1_000 / requestsPerSecond))
  for (;;) {
    signal.throwIfAborted()
    const { slot, ...skew } = await reserveOne(db, clock, { requestsPerSecond, lane: true })
    if (slot !== undefined) return { slot, ...skew }
    if (clock.now().getTime() + pauseMs > endMs) throw new NoSlotError(patienceMs)
    await clock.sleep(pauseMs, signal)
  }
}
