import type { Clock } from '../base/clock.ts'
import { messageOf } from '../base/errors.ts'
import type { Logger } from '../base/logger.ts'
import type { Db } from '../db/database.ts'
import { withSessionLock } from '../db/session-lock.ts'
import type { QueueSystem } from '../queue/queue-system.ts'
import { type DueDeps, enqueueDueSchedules } from './enqueue-due-schedules.ts'

export const TICK_QUEUE = 'ticks'
const TICK = { queue: TICK_QUEUE, name: 'schedules', everyMs: 5_000 }
const RECONCILE_EVERY_MS = 60_000

export interface ReconcilerDeps extends DueDeps {
  readonly db: Db
  readonly queue: Pick<QueueSystem, 'enqueue' | 'upsertTick' | 'onReconnect'>
  readonly clock: Clock
  readonly log: Logger
}

/** One pass: gives the queue its tick back, and what the tables owe. Safe to run at any time, any number of times. */
export async function reconcile(deps: ReconcilerDeps): Promise<void> {
  await withSessionLock(deps.db, 'reconcile', async () => {
    await deps.queue.upsertTick(TICK)
    await enqueueDueSchedules(deps)
  })
}

/**
 * Reconciles at start, whenever the queue's store comes back, and every minute, from one process at a time: a
 * queue that was flushed, or that forgot its schedulers, is whole again within a minute.
 */
export async function runReconciler(deps: ReconcilerDeps, signal: AbortSignal): Promise<void> {
  let wake = new AbortController()
  deps.queue.onReconnect(() => wake.abort())
  while (!signal.aborted) {
    wake = new AbortController()
    await reconcile(deps).catch((err: unknown) => {
      deps.log.warn({ reason: messageOf(err) }, 'reconciling the queue failed')
    })
    await deps.clock
      .sleep(RECONCILE_EVERY_MS, AbortSignal.any([signal, wake.signal]))
      .catch(() => undefined)
  }
}
