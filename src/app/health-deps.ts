import packageJson from '../../package.json' with { type: 'json' }
import { readFeedHeads } from '../feeds/feed-bounds.ts'
import type { QueueControl } from '../health/queue-operations.ts'
import type { Schedule, StatusDeps, WorkState } from '../health/status-operations.ts'
import { ROUTE_LISTS } from '../platform/base/kinds.ts'
import type { Db } from '../platform/db/database.ts'
import { readDisk } from '../platform/db/database-health.ts'
import type { QueueSystem, SavedScheduler } from '../platform/queue/queue-system.ts'
import { countRoutes } from '../routes/read/sync-state.ts'
import type { App } from './app.ts'
import { listAllSchedulers, runNow } from './periodic.ts'
import { listProcesses } from './processes.ts'
import { changeDeadJobs, readQueueState } from './queue-state.ts'
import { syncNameOf, verifyRulesOf } from './settings-for.ts'

/** What the status is read with. @param db the connection that reads it, if not that of the work */
export function statusDeps(
  { config, database, clock }: Pick<App, 'config' | 'database' | 'clock'>,
  queue: QueueSystem,
  db: Db = database.db,
): StatusDeps {
  return {
    db,
    clock,
    ...verifyRulesOf(config),
    version: packageJson.version,
    readWork: () => readWork(db, queue),
  }
}

/** Reads what does the work. Rejects if the database is down; an unavailable queue is part of the state. */
export async function readWork(db: Db, queue: QueueSystem): Promise<WorkState> {
  const [{ state, schedulers }, processes, disk = null, routes, feeds] = await Promise.all([
    readQueueState(queue),
    listProcesses(db),
    readDisk(db),
    countRoutes(db),
    readFeedHeads(db),
  ])
  return { queue: state, schedules: schedulers.map(scheduleOf), processes, disk, routes, feeds }
}

/** A job scheduler as the command line and the status show it. */
function scheduleOf({ name, times, nextDueAt, lastDueAt }: SavedScheduler): Schedule {
  const list = ROUTE_LISTS.find((known) => syncNameOf(known) === name) ?? null
  const when =
    'everyMs' in times
      ? { cron: null, zone: null, everySeconds: times.everyMs / 1_000 }
      : { cron: times.pattern, zone: times.zone, everySeconds: null }
  return { name, list, ...when, nextDueAt, lastDueAt }
}

/** What the API offers operators of the queues. */
export function queueControl(
  { db, clock }: Pick<App, 'clock'> & Pick<App['database'], 'db'>,
  queue: QueueSystem,
): QueueControl {
  return {
    jobs: queue.jobs,
    changeDead: (change) => changeDeadJobs({ queue, clock }, change),
    schedules: async () => (await listAllSchedulers(queue)).map(scheduleOf),
    run: (name) => runNow(db, queue, name),
  }
}
