import type { Clock } from '../base/clock.ts'
import { messageOf } from '../base/errors.ts'
import type { Logger } from '../base/logger.ts'
import type { Db } from '../db/database.ts'
import { withSessionLock } from '../db/session-lock.ts'
import type { QueueSystem } from '../queue/queue-system.ts'
import { type DueDeps, enqueueDueSchedules, enqueueLostJobs } from './enqueue-schedules.ts'

export const TICK_QUEUE = 'ticks'
export const RECONCILE_EVERY_MS = 60_000

/** A recurring job of the tick queue. */
export interface Tick {
  readonly name: string
  readonly everyMs: number
}

export interface ReconcilerDeps extends DueDeps {
  readonly db: Db
  readonly ticks: readonly Tick[]
  readonly queue: Pick<QueueSystem, 'enqueue' | 'counts' | 'upsertTick' | 'onReconnect'>
  readonly clock: Clock
  readonly log: Logger
}

/** One pass: upserts the ticks, and enqueues the jobs that the tables owe. Safe to run at any time, any number of times. */
export async function reconcile(deps: ReconcilerDeps): Promise<void> {
  await withSessionLock(deps.db, 'reconcile', async () => {
    for (const tick of deps.ticks) await deps.queue.upsertTick({ queue: TICK_QUEUE, ...tick })
    await enqueueLostJobs(deps)
    await enqueueDueSchedules(deps)
  })
}

/**
 * Reconciles at start, whenever the queue's store reconnects, and every minute, in one process at a time. So a queue
 * that was flushed or lost its schedulers is complete again within a minute.
 *
 * Calls `onPass` after each pass, even if it failed.
 */
export async function runReconciler(
  deps: ReconcilerDeps,
  signal: AbortSignal,
  onPass: () => void = () => undefined,
): Promise<void> {
  let pause = new AbortController()
  const stopListening = deps.queue.onReconnect(() => pause.abort())
  while (!signal.aborted) {
    pause = new AbortController()
    await reconcile(deps).catch((err: unknown) => {
      deps.log.warn({ reason: messageOf(err) }, 'reconciling the queue failed')
    })
    onPass()
    await deps.clock
      .sleep(RECONCILE_EVERY_MS, AbortSignal.any([signal, pause.signal]))
      .catch(() => undefined)
  }
  stopListening()
}
