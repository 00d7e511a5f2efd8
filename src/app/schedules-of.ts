import { longestGapMs } from '../base/cron.ts'
import type { Config } from '../config/config.ts'
import type { Metrics } from '../metrics/metrics.ts'
import { SYNC_QUEUE } from '../route-sync/sync-list-job.ts'
import type { Schedule } from '../schedules/schedules.ts'

/** How long after the very first start the availability of the routes is asked: once they are there. */
const FIRST_AVAILABILITY_MS = 15_000

/** The recurring work that the configuration asks for. */
export function schedulesOf(config: Config): Schedule[] {
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

/** Tells the metrics how far apart the lists of each kind may lie: an alert on their age goes by it. */
export function readIntervalGauges(config: Config, metrics: Metrics, now: Date): void {
  for (const { cron, payload } of schedulesOf(config)) {
    const { list = '' } = payload
    if (list !== '') metrics.syncInterval.set({ list }, longestGapMs(cron, now) / 1000)
  }
}
