import packageJson from '../../package.json' with { type: 'json' }
import { type FeedHead, readFeedHeads } from '../feeds/feed-bounds.ts'
import type { Db } from '../platform/db/database.ts'
import { readDisk } from '../platform/db/database-health.ts'
import type { QueueSystem } from '../platform/queue/queue-system.ts'
import { listSchedules, type SavedSchedule } from '../platform/ticks/schedules.ts'
import { countRoutes } from '../routes/read/sync-state.ts'
import { type CallSums, readCallSeries, sumCalls } from '../schedule/budget-operations.ts'
import { readStatus, type WorkState } from '../views/status-operations.ts'
import type { Status } from '../views/status-shapes.ts'
import type { App } from './app.ts'
import { listProcesses } from './processes.ts'
import { readQueueState } from './queue-state.ts'
import { verifyRulesOf } from './settings-for.ts'

/** The state of the whole system. */
export interface Overview extends Omit<Status, keyof WorkState>, WorkState {
  readonly routes: { readonly live: number; readonly available: number }
  readonly schedules: readonly SavedSchedule[]
  readonly feeds: readonly FeedHead[]
  /** What the budget was spent on in the last whole hour. */
  readonly callsLastHour: CallSums
}

/** Reads what does the work. Rejects if the database is down; an unavailable queue is part of the state. */
export async function readWork(
  db: Db,
  queue: Pick<QueueSystem, 'kind' | 'counts'>,
): Promise<WorkState> {
  const [queueState, processes, disk = null] = await Promise.all([
    readQueueState(db, queue),
    listProcesses(db),
    readDisk(db),
  ])
  return { queue: queueState, processes, disk }
}

/** Reads the state of the whole system. Rejects if the database is down; an unavailable queue is part of the state. */
export async function readOverview(
  { config, database, clock }: Pick<App, 'config' | 'database' | 'clock'>,
  queue: Pick<QueueSystem, 'kind' | 'counts'>,
): Promise<Overview> {
  const { db } = database
  const work = readWork(db, queue)
  const deps = { db, clock, ...verifyRulesOf(config), version: packageJson.version }
  const [status, routes, schedules, feeds, calls] = await Promise.all([
    readStatus({ ...deps, readWork: () => work }),
    countRoutes(db),
    listSchedules(db),
    readFeedHeads(db),
    readCallSeries(db),
  ])
  return { ...status, ...(await work), routes, schedules, feeds, callsLastHour: sumCalls(calls) }
}
