import { type VerifyFaresPayload, verifyFaresJob } from '../fares/check.ts'
import { lastDueAt } from '../platform/base/cron.ts'
import { WORK_ROLES, type WorkRole } from '../platform/base/kinds.ts'
import type { Loop } from '../platform/base/loop.ts'
import { createSemaphore } from '../platform/base/semaphore.ts'
import type { JobContext, QueueSystem, WorkerHandle } from '../platform/queue/queue-system.ts'
import {
  assertList,
  SYNC_QUEUE,
  type SyncJobDeps,
  type SyncListPayload,
  syncListJob,
} from '../routes/sync.ts'
import { VERIFY_QUEUE } from '../schedule/claim.ts'
import { type ClaimCapacity, createClaimCapacity } from '../schedule/claim-capacity.ts'
import type { App } from './app.ts'
import { countJobs, countStalled } from './count-work.ts'
import { startLoops } from './loops.ts'
import { PERIODIC_QUEUE, periodicHandler, periodicWork, whatSyncWaitsFor } from './periodic.ts'
import { schedulesOf } from './settings-for.ts'

/** The workers and the loops of a process. */
export interface Work {
  readonly workers: readonly NamedWorker[]
  /** When a run of a loop last succeeded in this process. */
  loopedAt(): Date
  /** When the oldest run of a loop that has not ended began; null if none runs. */
  loopingSince(): Date | null
  /** Stops the loops. Closing the queue stops the workers. */
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
/** One batch is written while the next one is decided. */
const RECORDINGS = 2

interface WorkOptions {
  /** Default: all of the work. */
  readonly roles?: readonly WorkRole[]
  /** The loops of the deliveries and of the reports to operators. If unset, there are none. */
  readonly more?: readonly Loop[] | undefined
}

/** Starts the workers of the queues, and the loops, that the roles need. */
export async function startWork(
  app: App,
  queue: QueueSystem,
  { roles = WORK_ROLES, more = [] }: WorkOptions = {},
): Promise<Work> {
  const capacity = createClaimCapacity(() => performance.now())
  const workers = [
    ...(roles.includes('sync')
      ? [await startSyncs(app, queue), await startPeriodic(app, queue)]
      : []),
    ...(roles.includes('check') ? [await startChecks(app, queue, capacity)] : []),
  ]
  let loopedAt = app.clock.now()
  const onRun = () => {
    loopedAt = app.clock.now()
  }
  const loops = startLoops(app, queue, { roles, more, capacity, onRun })
  return {
    workers,
    loopedAt: () => loopedAt,
    loopingSince: () => loops.busySince(),
    stop: () => loops.stop(),
  }
}

async function startSyncs(app: App, queue: QueueSystem): Promise<NamedWorker> {
  const schedules = schedulesOf(app.config)
  const deps: SyncJobDeps = {
    ...app.syncDeps,
    metrics: app.metrics,
    log: app.log,
    clock: app.clock,
    lastDueAt: (list, now) => {
      const schedule = schedules.find((one) => one.list === list)
      return schedule === undefined ? now : lastDueAt(schedule.times, now)
    },
  }
  const run = async (payload: SyncListPayload, context: JobContext) => {
    const waitsFor = await whatSyncWaitsFor(app.database.db, assertList(payload.list))
    if (waitsFor === undefined) return syncListJob(deps, payload, context)
    app.log.info({ ...payload, waitsFor }, 'route sync left for later')
  }
  const handle = await queue.work<SyncListPayload>(
    SYNC_QUEUE,
    countJobs(app.metrics, SYNC_QUEUE, run),
    {
      concurrency: 2,
      retryBackoff: SYNC_RETRY,
      onStalled: countStalled(app.metrics, SYNC_QUEUE),
    },
  )
  return { queue: SYNC_QUEUE, handle }
}

async function startPeriodic(app: App, queue: QueueSystem): Promise<NamedWorker> {
  const handler = countJobs(app.metrics, PERIODIC_QUEUE, periodicHandler(app))
  return {
    queue: PERIODIC_QUEUE,
    handle: await queue.work(PERIODIC_QUEUE, handler, {
      // None waits for another one.
      concurrency: periodicWork(app).length,
      onStalled: countStalled(app.metrics, PERIODIC_QUEUE),
    }),
  }
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
