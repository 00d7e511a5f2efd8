import packageJson from '../../package.json' with { type: 'json' }
import { type FeedHead, readFeedHeads } from '../feeds/feed-bounds.ts'
import { ROUTE_LISTS } from '../platform/base/kinds.ts'
import type { Db } from '../platform/db/database.ts'
import { readDisk } from '../platform/db/database-health.ts'
import type { QueueSystem, SavedScheduler } from '../platform/queue/queue-system.ts'
import { countRoutes } from '../routes/read/sync-state.ts'
import { type CallSums, readCallSeries, sumCalls } from '../schedule/budget-operations.ts'
import { readStatus, type Schedule, type WorkState } from '../views/status-operations.ts'
import type { Status } from '../views/status-shapes.ts'
import type { App } from './app.ts'
import { listProcesses } from './processes.ts'
import { readQueueState } from './queue-state.ts'
import { syncNameOf, verifyRulesOf } from './settings-for.ts'

/** The state of the whole system. */
export interface Overview extends Omit<Status, keyof WorkState>, WorkState {
  readonly routes: { readonly live: number; readonly available: number }
  readonly feeds: readonly FeedHead[]
  /** What the budget was spent on in the last whole hour. */
  readonly callsLastHour: CallSums
}

/** Reads what does the work. Rejects if the database is down; an unavailable queue is part of the state. */
export async function readWork(db: Db, queue: QueueSystem): Promise<WorkState> {
  const [{ state, schedulers }, processes, disk = null] = await Promise.all([
    readQueueState(queue),
    listProcesses(db),
    readDisk(db),
  ])
  return { queue: state, schedules: schedulers.map(scheduleOf), processes, disk }
}

/** Reads the state of the whole system. Rejects if the database is down; an unavailable queue is part of the state. */
export async function readOverview(
  { config, database, clock }: Pick<App, 'config' | 'database' | 'clock'>,
  queue: QueueSystem,
): Promise<Overview> {
  const { db } = database
  const work = readWork(db, queue)
  const deps = { db, clock, ...verifyRulesOf(config), version: packageJson.version }
  const [status, routes, feeds, calls] = await Promise.all([
    readStatus({ ...deps, readWork: () => work }),
    countRoutes(db),
    readFeedHeads(db),
    readCallSeries(db),
  ])
  return { ...status, ...(await work), routes, feeds, callsLastHour: sumCalls(calls) }
}

/** A job scheduler as the command line and the status show it. */
export function scheduleOf({ name, times, nextDueAt, lastDueAt }: SavedScheduler): Schedule {
  const list = ROUTE_LISTS.find((known) => syncNameOf(known) === name) ?? null
  const when =
    'everyMs' in times
      ? { cron: null, zone: null, everySeconds: times.everyMs / 1_000 }
      : { cron: times.pattern, zone: times.zone, everySeconds: null }
  return { name, list, ...when, nextDueAt, lastDueAt }
}
