import packageJson from '../../package.json' with { type: 'json' }
import { type DeliveryState, readDeliveryState } from '../delivery/dispatch/delivery-gauges.ts'
import { type FeedHead, readFeedHeads } from '../feeds/feed-bounds.ts'
import type { QueueSystem } from '../platform/queue/queue-system.ts'
import { listSchedules, type SavedSchedule } from '../platform/ticks/schedules.ts'
import { countRoutes } from '../routes/read/sync-state.ts'
import { type CallSums, readCallSeries, sumCalls } from '../schedule/budget-operations.ts'
import { readStatus } from '../views/status-operations.ts'
import type { Status } from '../views/status-shapes.ts'
import type { App } from './app.ts'
import { type KnownProcess, listProcesses } from './processes.ts'
import { type QueueState, readQueueState } from './queue-state.ts'

/** The state of the whole system. */
export interface Overview extends Status {
  readonly routes: { readonly live: number; readonly available: number }
  readonly schedules: readonly SavedSchedule[]
  readonly feeds: readonly FeedHead[]
  readonly deliveries: DeliveryState
  /** What the budget was spent on in the last whole hour. */
  readonly callsLastHour: CallSums
  readonly queue: QueueState
  readonly processes: readonly KnownProcess[]
}

/** Reads the state of the whole system. Rejects if the database is down; an unavailable queue is part of the state. */
export async function readOverview(
  { config, database, clock }: Pick<App, 'config' | 'database' | 'clock'>,
  queue: Pick<QueueSystem, 'kind' | 'counts'>,
): Promise<Overview> {
  const { db } = database
  const requestsPerSecond = config.UPSTREAM_REQUESTS_PER_SECOND
  const [status, routes, schedules, feeds, calls, deliveries, queueState, processes] =
    await Promise.all([
      readStatus({ db, clock, requestsPerSecond, version: packageJson.version }),
      countRoutes(db),
      listSchedules(db),
      readFeedHeads(db),
      readCallSeries(db),
      readDeliveryState(db),
      readQueueState(db, queue),
      listProcesses(db),
    ])
  const callsLastHour = sumCalls(calls)
  return {
    ...status,
    routes,
    schedules,
    feeds,
    callsLastHour,
    deliveries,
    queue: queueState,
    processes,
  }
}
