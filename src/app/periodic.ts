import { endDeliveries, pruneDeliveries } from '../delivery/dispatch/end-deliveries.ts'
import { endWatches, expireFares, pruneEvidence, pruneFares, pruneMinutes } from '../fares/end.ts'
import { closeUncheckedIncidents } from '../fares/incidents.ts'
import { rollUpDays } from '../history/roll-up-days.ts'
import { lastDueAt } from '../platform/base/cron.ts'
import { ROUTE_LISTS, type RouteListName } from '../platform/base/kinds.ts'
import type { Loop } from '../platform/base/loop.ts'
import { endLongSessions } from '../platform/db/analyst-logins.ts'
import type { Db } from '../platform/db/database.ts'
import { pausedForMs } from '../platform/db/pauses.ts'
import { databaseNow } from '../platform/db/transaction.ts'
import type {
  JobHandler,
  JobState,
  QueueSystem,
  SavedScheduler,
  Scheduler,
} from '../platform/queue/queue-system.ts'
import { pruneKeptAnswers } from '../resellers/kept-answers.ts'
import { findLastAccepted, readAttempts } from '../routes/runs.ts'
import { pruneSnapshots } from '../routes/snapshots.ts'
import { SYNC_QUEUE, syncDueAt } from '../routes/sync.ts'
import { recordBeliefAges } from '../views/belief-ages.ts'
import type { App } from './app.ts'
import { countRuns } from './count-work.ts'
import { deleteMarked } from './delete-reseller.ts'
import { type ListSchedule, schedulesOf, syncNameOf, verifyRulesOf } from './settings-for.ts'

/** The queue of all periodic work except the syncs. */
export const PERIODIC_QUEUE = 'periodic'

const MINUTE_MS = 60_000
const HOUR_MS = 3_600_000
/** Shorter than any interval, so that no run overlaps the next one of its kind. */
const RUN_LIMIT_MS = 30_000
/** With the worker's pauses about half an hour, so that a short outage does not cost a whole interval. */
const SYNC_ATTEMPTS = 8

/** Work that is done at an interval. Every run does what is due; the next one repeats what failed. */
interface PeriodicWork {
  readonly name: string
  readonly everyMs: number
  /** The next run does what this one leaves undone when the signal aborts it. */
  readonly run: (signal: AbortSignal) => Promise<unknown>
}

/** All periodic work except the syncs. */
export function periodicWork(app: App): readonly PeriodicWork[] {
  return [...endings(app), ...upkeep(app)]
}

function endings(app: App): PeriodicWork[] {
  const { config, database, log, metrics } = app
  const { db } = database
  const rules = verifyRulesOf(config)
  return [
    {
      name: 'expire-fares',
      everyMs: MINUTE_MS,
      run: (signal) => expireFares({ db, log, metrics, rules }, signal),
    },
    { name: 'end-watches', everyMs: MINUTE_MS, run: (signal) => endWatches({ db, log }, signal) },
    {
      name: 'settle-incidents',
      everyMs: MINUTE_MS,
      run: () => closeUncheckedIncidents({ db, log }),
    },
    { name: 'end-deliveries', everyMs: MINUTE_MS, run: () => endOldDeliveries(app) },
    { name: 'end-analyst-sessions', everyMs: MINUTE_MS, run: () => endAnalystSessions(app) },
    { name: 'delete-resellers', everyMs: MINUTE_MS, run: (signal) => deleteResellers(app, signal) },
  ]
}

function upkeep({ config, database: { db } }: App): PeriodicWork[] {
  return [
    { name: 'record-ages', everyMs: MINUTE_MS, run: () => recordBeliefAges(db) },
    { name: 'roll-up-days', everyMs: 10 * MINUTE_MS, run: (signal) => rollUpDays(db, { signal }) },
    {
      name: 'prune',
      everyMs: HOUR_MS,
      run: async (signal) => {
        await pruneSnapshots(db, config.SNAPSHOT_RETENTION_DAYS)
        await pruneMinutes(db, signal)
        await pruneEvidence(db, signal)
        await pruneFares(db, signal)
        await pruneDeliveries(db, signal)
        await pruneKeptAnswers(db)
      },
    },
  ]
}

async function endOldDeliveries({ database: { db }, log }: App): Promise<void> {
  // What is not tried must not die of its age.
  if ((await pausedForMs(db, 'deliveries')) !== undefined) return
  const { dead, disabled } = await endDeliveries(db)
  if (dead > 0) log.warn({ deliveries: dead }, 'deliveries were tried for too long and are dead')
  for (const endpointId of disabled) {
    log.warn({ endpointId }, 'endpoint failed for five days and is disabled')
  }
}

async function endAnalystSessions({ config, database: { db }, log }: App): Promise<void> {
  for (const ended of await endLongSessions(db, config.ANALYST_STATEMENT_SECONDS)) {
    log.warn(ended, 'a statement or session of an analyst was ended')
  }
}

async function deleteResellers({ database: { db }, log }: App, signal: AbortSignal): Promise<void> {
  for (const reseller of await deleteMarked(db, { signal })) {
    log.info({ reseller }, 'reseller deleted with all that it had')
  }
}

/** Runs the work whose scheduler made the job. Another version of farewatch may know other work. */
export function periodicHandler(app: App): JobHandler<unknown> {
  const runs = new Map(periodicWork(app).map((work) => [work.name, countRuns(app, work)]))
  return async (_payload, { name, signal }) => {
    await runs.get(name)?.(AbortSignal.any([signal, AbortSignal.timeout(RUN_LIMIT_MS)]))
  }
}

/**
 * Gives the store of the queue its job schedulers, and makes up what was missed: at the start, at the end of a pause,
 * after the first routes, and every minute, because a store that was emptied reports nothing.
 */
export function schedulerLoop(app: App, queue: QueueSystem): Loop {
  const lists = schedulesOf(app.config)
  const syncs = lists.map(({ list, times }): Scheduler => {
    return { name: syncNameOf(list), times, payload: { list }, attempts: SYNC_ATTEMPTS }
  })
  const others = periodicWork(app).map(({ name, everyMs }): Scheduler => {
    return { name, times: { everyMs }, payload: {}, attempts: 1 }
  })
  return {
    name: 'schedulers',
    atMostMs: MINUTE_MS,
    run: async () => {
      const written = [
        ...(await queue.reconcile(SYNC_QUEUE, syncs)),
        ...(await queue.reconcile(PERIODIC_QUEUE, others)),
      ]
      if (written.length > 0) app.log.info({ schedulers: written }, 'job schedulers written')
      await makeUpSyncs(app, queue, lists)
      return undefined
    },
  }
}

/**
 * What a sync waits for; undefined if it may run now. It is made up afterwards. Before there are routes, all pairs of
 * `with-availability` would be unknown.
 */
export async function whatSyncWaitsFor(
  db: Db,
  list: RouteListName,
): Promise<'the end of the pause' | 'the first routes' | undefined> {
  if ((await pausedForMs(db, 'syncs')) !== undefined) return 'the end of the pause'
  const isEmpty = list !== 'routes' && (await findLastAccepted(db, 'routes')) === null
  return isEmpty ? 'the first routes' : undefined
}

/**
 * Enqueues the sync of each list whose last due time has passed without a list. Safe to run in several processes: while a
 * job of a due time waits, runs or is to be retried, another one is dropped, and after that there is a list.
 */
async function makeUpSyncs(
  { database: { db }, log }: App,
  queue: QueueSystem,
  lists: readonly ListSchedule[],
): Promise<void> {
  const now = await databaseNow(db)
  for (const { list, times } of lists) {
    if ((await whatSyncWaitsFor(db, list)) !== undefined) continue
    const dueAt = lastDueAt(times, now)
    if (await isHandled({ db, queue }, { list, since: dueAt, until: now })) continue
    await enqueueSync(queue, list, dueAt)
    log.info({ list, dueAt }, 'a missed sync is made up')
  }
}

/** Enqueues the sync of a due time. The id drops a second job while the first one is not done. */
async function enqueueSync(queue: QueueSystem, list: RouteListName, dueAt: Date): Promise<void> {
  await queue.enqueue(SYNC_QUEUE, {
    name: syncNameOf(list),
    payload: { list, dueAt: dueAt.toISOString() },
    id: `${list}@${dueAt.getTime()}`,
    attempts: SYNC_ATTEMPTS,
  })
}

interface DueSpan {
  readonly list: RouteListName
  readonly since: Date
  readonly until: Date
}

const PENDING: readonly JobState[] = ['active', 'waiting', 'delayed', 'dead']
const ENDED: readonly JobState[] = ['done']
/** More than one list has between two due times. */
const JOBS_READ = 50

/**
 * Whether a list has come since it was due, or the queue has the job of that due time. A job that ended without any run
 * met a pause.
 */
async function isHandled(
  { db, queue }: { readonly db: Db; readonly queue: QueueSystem },
  { list, since, until }: DueSpan,
): Promise<boolean> {
  const { gotList, began } = await readAttempts(db, list, since)
  if (gotList) return true
  for (const state of began ? [...PENDING, ...ENDED] : PENDING) {
    const jobs = await queue.jobs(SYNC_QUEUE, state, JOBS_READ)
    const due = jobs.filter(({ payload }) => payload.list === list).map(syncDueAt)
    if (due.some((dueAt) => dueAt >= since && dueAt <= until)) return true
  }
  return false
}

/**
 * Does the work of a job scheduler now, once. Returns since when it is due; undefined if there is no such scheduler.
 * Throws QueueUnavailableError.
 */
export async function runNow(db: Db, queue: QueueSystem, name: string): Promise<Date | undefined> {
  const known = await listAllSchedulers(queue)
  if (!known.some((one) => one.name === name)) return undefined
  const dueAt = await databaseNow(db)
  const list = ROUTE_LISTS.find((one) => syncNameOf(one) === name)
  if (list === undefined) await queue.enqueue(PERIODIC_QUEUE, { name, payload: {}, attempts: 1 })
  else await enqueueSync(queue, list, dueAt)
  return dueAt
}

/** The job schedulers of all queues: those of the syncs first. Throws QueueUnavailableError. */
export async function listAllSchedulers(
  queue: Pick<QueueSystem, 'schedulers'>,
): Promise<SavedScheduler[]> {
  return [...(await queue.schedulers(SYNC_QUEUE)), ...(await queue.schedulers(PERIODIC_QUEUE))]
}
