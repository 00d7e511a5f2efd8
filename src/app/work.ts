import { type VerifyFaresPayload, verifyFaresJob } from '../fares/check.ts'
import { WORK_ROLES, type WorkRole } from '../platform/base/kinds.ts'
import { createSemaphore } from '../platform/base/semaphore.ts'
import { databaseNow } from '../platform/db/transaction.ts'
import type { QueueSystem, WorkerHandle } from '../platform/queue/queue-system.ts'
import { pausedForMs } from '../platform/ticks/pauses.ts'
import { hasLaterDueTime, makeScheduleDue, saveSchedules } from '../platform/ticks/schedules.ts'
import {
  SYNC_QUEUE,
  type SyncJobDeps,
  type SyncListPayload,
  syncListJob,
} from '../routes/sync-list-job.ts'
import { VERIFY_QUEUE } from '../schedule/claim.ts'
import type { App } from './app.ts'
import { type ClaimCapacity, createClaimCapacity } from './claim-capacity.ts'
import { countJobs, countStalled } from './count-work.ts'
import { schedulesOf } from './settings-for.ts'
import { startTicks, type Ticks } from './ticks.ts'

/** The workers and the ticks of a process. */
export interface Work {
  readonly workers: readonly NamedWorker[]
  /** When a tick last succeeded in this process. */
  tickedAt(): Date
  /** When the oldest run of a tick that has not ended began; null if none runs. */
  tickingSince(): Date | null
  /** Stops the ticks. Closing the queue stops the workers. */
  stop(): Promise<void>
}

interface NamedWorker {
  readonly queue: string
  readonly handle: WorkerHandle
}

/** A sync that failed because the upstream is down is retried after a pause that grows to ten minutes. */
const SYNC_RETRY = { baseMs: 30_000, maxMs: 600_000 }
/**
 * How many batches run at a time. A batch mostly waits: its slots are up to 5 s ahead, it lasts about 1 s, and its last
 * answer may take 10 s. At two batches a second that is about 32 batches, doubled as a reserve.
 */
const VERIFY_CONCURRENCY = 64
/** While the upstream is paused a sync is snoozed, each time for 1 to 15 min, for hours. Every snooze is a start. */
const SYNC_STARTS = 100
/** One batch is written while the next one is decided. */
const RECORDINGS = 2

interface WorkOptions {
  /** Default: all of the work. */
  readonly roles?: readonly WorkRole[]
  /** The ticks of the deliveries. If unset, nothing is delivered. */
  readonly delivery?: Ticks | undefined
}

/** Starts the workers of the queues, and the ticks, that the roles need. */
export async function startWork(
  app: App,
  queue: QueueSystem,
  { roles = WORK_ROLES, delivery = { own: [], shared: [] } }: WorkOptions = {},
): Promise<Work> {
  const { clock } = app
  const { db } = app.database
  const now = await databaseNow(db)
  const does = (role: WorkRole) => roles.includes(role)
  if (does('sync')) await saveSchedules(db, schedulesOf(app.config), { now, random: Math.random })

  const capacity = createClaimCapacity(() => performance.now())
  const workers = [
    ...(does('sync') ? [await startSyncs(app, queue)] : []),
    ...(does('check') ? [await startChecks(app, queue, capacity)] : []),
  ]
  let tickedAt = clock.now()
  const onTick = () => {
    tickedAt = clock.now()
  }
  const ticks = startTicks(app, queue, { roles, more: delivery, capacity, onTick })
  return {
    workers,
    tickedAt: () => tickedAt,
    tickingSince: () => ticks.busySince(),
    stop: () => ticks.stop(),
  }
}

async function startSyncs(app: App, queue: QueueSystem): Promise<NamedWorker> {
  const { db } = app.database
  const schedules = schedulesOf(app.config)
  const nameOf = (list: string) => schedules.find(({ payload }) => payload.list === list)?.name
  const deps: SyncJobDeps = {
    ...app.syncDeps,
    metrics: app.metrics,
    log: app.log,
    clock: app.clock,
    hasLaterDueTime: async ({ list, dueAt }) => {
      const schedule = nameOf(list)
      return schedule !== undefined && hasLaterDueTime(db, schedule, dueAt)
    },
  }
  const run = async (payload: SyncListPayload, signal: AbortSignal) => {
    const schedule = nameOf(payload.list)
    if (schedule === undefined || (await pausedForMs(db, 'syncs')) === undefined) {
      return syncListJob(deps, payload, signal)
    }
    // Then it is enqueued again at the end of the pause.
    await makeScheduleDue(db, schedule)
    app.log.info({ ...payload }, 'route sync left to the end of the pause')
  }
  const handle = await queue.work<SyncListPayload>(
    SYNC_QUEUE,
    countJobs(app.metrics, SYNC_QUEUE, (payload, { signal }) => run(payload, signal)),
    {
      concurrency: 2,
      retryBackoff: SYNC_RETRY,
      maxStartedAttempts: SYNC_STARTS,
      onStalled: countStalled(app.metrics, SYNC_QUEUE),
    },
  )
  return { queue: SYNC_QUEUE, handle }
}

async function startChecks(
  app: App,
  queue: QueueSystem,
  { onBatch, onFailure }: ClaimCapacity,
): Promise<NamedWorker> {
  const deps = { ...app.verifyDeps, recording: createSemaphore(RECORDINGS), onBatch }
  const handle = await queue.work<VerifyFaresPayload>(
    VERIFY_QUEUE,
    countJobs(app.metrics, VERIFY_QUEUE, async (payload, { signal }) => {
      try {
        await verifyFaresJob(deps, payload, signal)
      } catch (err) {
        onFailure()
        throw err
      }
    }),
    { concurrency: VERIFY_CONCURRENCY, onStalled: countStalled(app.metrics, VERIFY_QUEUE) },
  )
  return { queue: VERIFY_QUEUE, handle }
}
