import { rollUpDays } from '../analytics/roll-up-days.ts'
import { createSemaphore } from '../base/semaphore.ts'
import { cancelLongStatements } from '../db/analyst-logins.ts'
import { databaseNow } from '../db/transaction.ts'
import type { QueueSystem, WorkerHandle } from '../queue/queue-system.ts'
import { VERIFY_QUEUE } from '../recheck/dispatch-checks-job.ts'
import { pruneSnapshots } from '../route-sync/snapshots/snapshots.ts'
import {
  SYNC_QUEUE,
  type SyncJobDeps,
  type SyncListPayload,
  syncListJob,
} from '../route-sync/sync-list-job.ts'
import { type ReconcilerDeps, runReconciler, TICK_QUEUE } from '../schedules/reconciler.ts'
import { hasLaterDueTime, saveSchedules } from '../schedules/schedules.ts'
import { askEnded } from '../verify/expiry/ask-ended.ts'
import { endWatches } from '../verify/expiry/end-watches-job.ts'
import { expireFares } from '../verify/expiry/expire-fares-job.ts'
import { pruneEvidence, pruneFares, pruneMinutes } from '../verify/expiry/prune-checks.ts'
import { closeUncheckedIncidents } from '../verify/incidents/change-incidents.ts'
import { type VerifyFaresPayload, verifyFaresJob } from '../verify/verify-fares-job.ts'
import type { App } from './app.ts'
import { countJobs, countStalled, countTick, type RunningTick } from './count-work.ts'
import type { Delivery } from './delivery.ts'
import { startDueTicks, TICK_LIMIT_MS } from './due-ticks.ts'
import { TICK_EVERY_MS } from './queue-state.ts'
import { schedulesOf, verifyRulesOf } from './settings-for.ts'

/** The workers and the reconciler of a process. */
export interface Work {
  readonly workers: readonly NamedWorker[]
  /** When a tick last ended in this process, and when the reconciler last passed. Failures count too. */
  progress(): { readonly tickedAt: Date; readonly reconciledAt: Date }
  /** Stops the reconciler. Closing the queue stops the workers. */
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

/** Starts the workers of all queues, and the reconciler that enqueues what our tables owe. */
export async function startWork(
  app: App,
  queue: QueueSystem,
  delivery?: Pick<Delivery, 'ticks' | 'dueTick'>,
): Promise<Work> {
  const { log, clock } = app
  const { db } = app.database
  const schedules = schedulesOf(app.config)
  const ticks = [...ticksOf(app), ...(delivery?.ticks ?? [])].map((tick) => countTick(app, tick))
  const due: ReconcilerDeps = { db, queue, schedules, ticks, random: Math.random, clock, log }
  await saveSchedules(db, schedules, { now: await databaseNow(db), random: Math.random })

  const progress = { tickedAt: clock.now(), reconciledAt: clock.now() }
  const onTick = () => {
    progress.tickedAt = clock.now()
  }
  const workers = [
    await startSyncs(app, queue),
    await startChecks(app, queue),
    await startTicks(app, queue, { ticks, onTick }),
  ]
  const more = delivery === undefined ? [] : [delivery.dueTick]
  const dueTicks = startDueTicks(app, due, { more, onTick })
  const ending = new AbortController()
  const reconciling = runReconciler(due, ending.signal, () => {
    progress.reconciledAt = clock.now()
  })
  return {
    workers,
    progress: () => ({ ...progress }),
    stop: async () => {
      ending.abort()
      await Promise.all([reconciling, dueTicks.stop()])
    },
  }
}

function ticksOf(app: App): RunningTick[] {
  const { db } = app.database
  const rules = verifyRulesOf(app.config)
  const cancelAnalysts = async () => {
    const cancelled = await cancelLongStatements(db, app.config.ANALYST_STATEMENT_SECONDS)
    for (const statement of cancelled) {
      app.log.warn(statement, 'statement of an analyst ran too long and was cancelled')
    }
  }
  const prune = async (signal: AbortSignal) => {
    await pruneSnapshots(db, app.config.SNAPSHOT_RETENTION_DAYS)
    await pruneMinutes(db, signal)
    await pruneEvidence(db, signal)
    await pruneFares(db, signal)
  }
  return [
    {
      name: 'expire-fares',
      everyMs: TICK_EVERY_MS['expire-fares'],
      run: async (signal) => {
        await expireFares({ db, log: app.log, metrics: app.metrics, rules }, signal)
        await askEnded(db, signal)
      },
    },
    {
      name: 'end-watches',
      everyMs: TICK_EVERY_MS['end-watches'],
      run: (signal) => endWatches({ db, log: app.log }, signal),
    },
    {
      name: 'settle-incidents',
      everyMs: TICK_EVERY_MS['settle-incidents'],
      run: () => closeUncheckedIncidents({ db, log: app.log }, rules.massHoldMs),
    },
    { name: 'cancel-analysts', everyMs: TICK_EVERY_MS['cancel-analysts'], run: cancelAnalysts },
    { name: 'prune', everyMs: TICK_EVERY_MS.prune, run: prune },
    {
      name: 'roll-up-days',
      everyMs: TICK_EVERY_MS['roll-up-days'],
      run: (signal) => rollUpDays(db, signal),
    },
  ]
}

async function startTicks(
  { metrics }: App,
  queue: QueueSystem,
  { ticks, onTick }: { ticks: readonly RunningTick[]; onTick: () => void },
): Promise<NamedWorker> {
  const handle = await queue.work<{ tick: string }>(
    TICK_QUEUE,
    countJobs(metrics, TICK_QUEUE, async ({ tick }, { signal }) => {
      const found = ticks.find(({ name }) => name === tick)
      // After a deploy the queue may still hold ticks of another version, which creates its own again.
      if (found === undefined) await queue.removeTick({ queue: TICK_QUEUE, name: tick })
      await found
        ?.run(AbortSignal.any([signal, AbortSignal.timeout(TICK_LIMIT_MS)]))
        .finally(onTick)
    }),
    { concurrency: ticks.length, onStalled: countStalled(metrics, TICK_QUEUE) },
  )
  return { queue: TICK_QUEUE, handle }
}

async function startSyncs(app: App, queue: QueueSystem): Promise<NamedWorker> {
  const schedules = schedulesOf(app.config)
  const deps: SyncJobDeps = {
    ...app.syncDeps,
    metrics: app.metrics,
    log: app.log,
    clock: app.clock,
    hasLaterDueTime: async ({ list, dueAt }) => {
      const schedule = schedules.find(({ payload }) => payload.list === list)
      return schedule !== undefined && hasLaterDueTime(app.database.db, schedule.name, dueAt)
    },
  }
  const handle = await queue.work<SyncListPayload>(
    SYNC_QUEUE,
    countJobs(app.metrics, SYNC_QUEUE, (payload, { signal }) => syncListJob(deps, payload, signal)),
    {
      concurrency: 2,
      retryBackoff: SYNC_RETRY,
      maxStartedAttempts: SYNC_STARTS,
      onStalled: countStalled(app.metrics, SYNC_QUEUE),
    },
  )
  return { queue: SYNC_QUEUE, handle }
}

async function startChecks(app: App, queue: QueueSystem): Promise<NamedWorker> {
  const deps = { ...app.verifyDeps, recording: createSemaphore(RECORDINGS) }
  const handle = await queue.work<VerifyFaresPayload>(
    VERIFY_QUEUE,
    countJobs(app.metrics, VERIFY_QUEUE, (payload, { signal }) =>
      verifyFaresJob(deps, payload, signal),
    ),
    { concurrency: VERIFY_CONCURRENCY, onStalled: countStalled(app.metrics, VERIFY_QUEUE) },
  )
  return { queue: VERIFY_QUEUE, handle }
}
