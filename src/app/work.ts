import type { QueueSystem, WorkerHandle } from '../queue/queue-system.ts'
import { SYNC_QUEUE, type SyncListPayload, syncListJob } from '../route-sync/sync-list-job.ts'
import { enqueueDueSchedules } from '../schedules/enqueue-due-schedules.ts'
import { type ReconcilerDeps, runReconciler, TICK_QUEUE } from '../schedules/reconciler.ts'
import { saveSchedules } from '../schedules/save-schedules.ts'
import type { Schedule } from '../schedules/schedule.ts'
import type { App } from './app.ts'

/** The part of a process that does the work. */
export interface Work {
  readonly workers: readonly { readonly queue: string; readonly handle: WorkerHandle }[]
  /** Ends what runs, or gives it back to the queue, within the grace time. */
  stop(graceMs: number): Promise<void>
}

/** How long after the very first start the availability of the routes is asked: once they are there. */
const FIRST_AVAILABILITY_MS = 15_000

/** An upstream that is down is asked again after a pause that grows to ten minutes. */
const SYNC_RETRY = { baseMs: 30_000, maxMs: 600_000 }

function schedulesOf({ config }: App): Schedule[] {
  return [
    {
      name: 'sync-routes',
      cron: config.ROUTE_SYNC_SCHEDULE,
      queue: SYNC_QUEUE,
      payload: { list: 'routes' },
      firstAfterMs: 0,
    },
    {
      name: 'sync-availability',
      cron: config.AVAILABILITY_SYNC_SCHEDULE,
      queue: SYNC_QUEUE,
      payload: { list: 'with-availability' },
      firstAfterMs: FIRST_AVAILABILITY_MS,
    },
  ]
}

/** Starts the workers of all queues, and the reconciler that keeps the queue whole. */
export async function startWork(app: App, queue: QueueSystem): Promise<Work> {
  const { log, clock, metrics } = app
  const { db } = app.database
  const schedules = schedulesOf(app)
  const due: ReconcilerDeps = { db, queue, schedules, random: Math.random, clock, log }
  await saveSchedules(db, schedules, { now: clock.now(), random: Math.random })

  const workers = [
    {
      queue: SYNC_QUEUE,
      handle: await queue.work<SyncListPayload>(
        SYNC_QUEUE,
        (payload, { signal }) => syncListJob({ ...app.syncDeps, metrics, log }, payload, signal),
        { concurrency: 2, retryBackoff: SYNC_RETRY },
      ),
    },
    {
      queue: TICK_QUEUE,
      handle: await queue.work(TICK_QUEUE, async () => {
        await enqueueDueSchedules(due)
      }),
    },
  ]
  const ending = new AbortController()
  const reconciling = runReconciler(due, ending.signal)
  return {
    workers,
    stop: async (graceMs) => {
      ending.abort()
      await reconciling
      await queue.close({ graceMs })
    },
  }
}
