import type { Clock } from '../../platform/base/clock.ts'
import { AppError } from '../../platform/base/errors.ts'
import type { Db } from '../../platform/db/database.ts'
import { inTransaction } from '../../platform/db/transaction.ts'
import { pay } from '../../schedule/claim.ts'
import { reserveSlots } from '../../upstream/budget/reserve-slots.ts'
import { type Skew, skewOf, type TakenSlot, waitForSlot } from '../../upstream/budget/take-slot.ts'

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

interface SlotQueueDeps {
  readonly db: Db
  readonly clock: Clock
  readonly requestsPerSecond: number
  /** How long a check waits until a slot is granted to it. */
  readonly timeoutMs: number
}

/** The number of a reseller, or the text that stands for another caller. */
export type CallerKey = number | string

/**
 * Takes a slot for a check that these callers wait for; the first pays for it. More callers may join while it
 * waits.
 */
type TakeSlotFor = (callers: ReadonlySet<CallerKey>, signal: AbortSignal) => Promise<TakenSlot>

/**
 * Creates the queue in which this process's on-demand checks wait for slots. Callers take turns, so that the many
 * questions of one delay those of another by one slot each.
 *
 * Only the first of the queue queries the budget: every worker needs that row's lock. The returned function throws
 * NoSlotError, or the signal's reason when it aborts.
 */
export function createSlotQueue(deps: SlotQueueDeps): TakeSlotFor {
  const queue = createRoundRobin()
  const { clock, timeoutMs } = deps
  return async (callers, signal) => {
    const endMs = clock.now().getTime() + timeoutMs
    for (;;) {
      const { slot, ...skew } = await queue(callers, () =>
        reserveUntil(deps, { resellerId: resellerOf(callers), endMs }, signal),
      )
      const taken = await waitForSlot(slot, { ...skew, clock, signal })
      if (taken !== undefined) return taken
    }
  }
}

function resellerOf(callers: ReadonlySet<CallerKey>): number | null {
  const [first] = callers
  return typeof first === 'number' ? first : null
}

interface Waiting {
  readonly callers: ReadonlySet<CallerKey>
  readonly start: () => void
}

/**
 * Runs one piece of work at a time. The next is that of the caller whose last turn is longest ago, and of the work
 * of one caller that which has waited longest.
 */
function createRoundRobin(): <T>(
  callers: ReadonlySet<CallerKey>,
  work: () => Promise<T>,
) => Promise<T> {
  const waiting: Waiting[] = []
  const lastServed = new Map<CallerKey, number>()
  let served = 0
  let isBusy = false

  /** A caller without a turn since the queue was last empty comes first. */
  const lastServedOf = ({ callers }: Waiting) =>
    Math.min(...[...callers].map((caller) => lastServed.get(caller) ?? 0))

  function startNext(): void {
    const [next] = waiting.toSorted((a, b) => lastServedOf(a) - lastServedOf(b))
    isBusy = next !== undefined
    if (next === undefined) {
      lastServed.clear()
      return
    }
    waiting.splice(waiting.indexOf(next), 1)
    next.start()
  }

  return async (callers, work) => {
    if (isBusy) await new Promise<void>((start) => waiting.push({ callers, start }))
    isBusy = true
    served += 1
    for (const caller of callers) lastServed.set(caller, served)
    try {
      return await work()
    } finally {
      startNext()
    }
  }
}

async function reserveUntil(
  { db, clock, requestsPerSecond, timeoutMs }: SlotQueueDeps,
  { resellerId, endMs }: { readonly resellerId: number | null; readonly endMs: number },
  signal: AbortSignal,
): Promise<Skew & { readonly slot: Date }> {
  const pauseMs = Math.min(PAUSE_MS.max, Math.max(PAUSE_MS.min, 1_000 / requestsPerSecond))
  for (;;) {
    signal.throwIfAborted()
    const reserved = await inTransaction(db, async (tx) => {
      const askedMs = clock.now().getTime()
      const { slots, now } = await reserveSlots(tx, { requestsPerSecond, wanted: 1, lane: true })
      const [slot] = slots
      if (slot === undefined) return undefined
      await pay(tx, [{ payers: resellerId === null ? [] : [{ resellerId, part: 1 }], vdue: null }])
      return { slot, ...skewOf(now, { clock, askedMs }) }
    })
    if (reserved !== undefined) return reserved
    if (clock.now().getTime() + pauseMs > endMs) throw new NoSlotError(timeoutMs)
    await clock.sleep(pauseMs, signal)
  }
}
