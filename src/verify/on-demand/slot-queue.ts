import type { Clock } from '../../base/clock.ts'
import { AppError } from '../../base/errors.ts'
import { createSemaphore } from '../../base/semaphore.ts'
import type { Db } from '../../db/database.ts'
import {
  reserveOne,
  type Skew,
  type TakenSlot,
  waitForSlot,
} from '../../upstream/budget/take-slot.ts'

/** The budget granted no slot in time. */
export class NoSlotError extends AppError {
  override readonly name = 'NoSlotError'
  override readonly code = 'verify.no_slot'
  override readonly retryable = true
  /** Slots are granted at most this far ahead, so those that are taken now have passed by then. */
  readonly retryAfterMs = 5_000

  constructor(timeoutMs: number) {
    super(`the budget granted no slot for an on-demand check within ${timeoutMs} ms`)
  }
}

const PAUSE_MS = { min: 50, max: 1_000 }

export interface SlotQueueDeps {
  readonly db: Db
  readonly clock: Clock
  readonly requestsPerSecond: number
  /** How long a check waits until a slot is granted to it. */
  readonly timeoutMs: number
}

/**
 * Creates the queue in which this process's on-demand checks wait for slots, first in, first out.
 *
 * Only the first of the queue queries the budget: every worker needs that row's lock. The returned function throws
 * NoSlotError, or the signal's reason when it aborts.
 */
export function createSlotQueue(deps: SlotQueueDeps): (signal: AbortSignal) => Promise<TakenSlot> {
  const queue = createSemaphore(1)
  const { clock, timeoutMs } = deps
  return async (signal) => {
    const endMs = clock.now().getTime() + timeoutMs
    for (;;) {
      const { slot, ...skew } = await queue(() => reserveUntil(deps, endMs, signal))
      const taken = await waitForSlot(slot, { ...skew, clock, signal })
      if (taken !== undefined) return taken
    }
  }
}

async function reserveUntil(
  { db, clock, requestsPerSecond, timeoutMs }: SlotQueueDeps,
  endMs: number,
  signal: AbortSignal,
): Promise<Skew & { readonly slot: Date }> {
  const pauseMs = Math.min(PAUSE_MS.max, Math.max(PAUSE_MS.min, 1_000 / requestsPerSecond))
  for (;;) {
    signal.throwIfAborted()
    const { slot, ...skew } = await reserveOne(db, clock, { requestsPerSecond, lane: true })
    if (slot !== undefined) return { slot, ...skew }
    if (clock.now().getTime() + pauseMs > endMs) throw new NoSlotError(timeoutMs)
    await clock.sleep(pauseMs, signal)
  }
}
