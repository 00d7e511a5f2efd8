import packageJson from '../../package.json' with { type: 'json' }
import { messageOf } from '../base/errors.ts'
import { type FeedHead, readFeedHeads } from '../changes/feed-gauges.ts'
import type { QueueSystem } from '../queue/queue-system.ts'
import { countRoutes } from '../route-sync/read/sync-state.ts'
import { listSchedules, type SavedSchedule } from '../schedules/schedules.ts'
import { readStatus, type Status } from '../verify/read/read-status.ts'
import type { App } from './app.ts'
import { type LastTick, lastTickOf } from './last-tick.ts'
import { QUEUES, type QueueDepth, readDepth } from './queue-gauges.ts'

/** The state of everything, at one moment. */
export interface Overview extends Status {
  readonly routes: { readonly live: number; readonly available: number }
  readonly schedules: readonly SavedSchedule[]
  readonly feeds: readonly FeedHead[]
  readonly queue: QueueState
}

export interface QueueState {
  readonly kind: 'postgres' | 'redis'
  /** Why its store cannot be asked; null where it can. */
  readonly fault: string | null
  readonly lastTick: LastTick | null
  readonly queues: readonly QueueDepth[]
}

type AskedQueue = Pick<QueueSystem, 'kind' | 'counts' | 'jobs'>

/** Reads the state of everything. Rejects where the database does not answer; a queue that does not is part of it. */
export async function readOverview(
  { config, database, clock }: Pick<App, 'config' | 'database' | 'clock'>,
  queue: AskedQueue,
): Promise<Overview> {
  const { db } = database
  const requestsPerSecond = config.UPSTREAM_REQUESTS_PER_SECOND
  const [status, routes, schedules, feeds, queueState] = await Promise.all([
    readStatus({ db, clock, requestsPerSecond, version: packageJson.version }),
    countRoutes(db),
    listSchedules(db),
    readFeedHeads(db),
    readQueueState(queue),
  ])
  return { ...status, routes, schedules, feeds, queue: queueState }
}

async function readQueueState(queue: AskedQueue): Promise<QueueState> {
  const { kind } = queue
  try {
    const lastTick = (await lastTickOf(queue)) ?? null
    const queues = await Promise.all(QUEUES.map((name) => readDepth(queue, name)))
    return { kind, fault: null, lastTick, queues }
  } catch (err) {
    return { kind, fault: messageOf(err), lastTick: null, queues: [] }
  }
}
