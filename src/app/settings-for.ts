import { longestGapMs } from '../base/cron.ts'
import type { Config } from '../config/settings.ts'
import type { Metrics } from '../metrics/metrics.ts'
import type { GuardLimits } from '../route-sync/plan/guard.ts'
import { SYNC_QUEUE } from '../route-sync/sync-list-job.ts'
import type { Schedule } from '../schedules/schedules.ts'
import { COUNT_GAP_MS } from '../verify/decide/decide-leg.ts'
import type { VerifyDeps } from '../verify/verify-fares-job.ts'

/** The limits of the guard. The configuration has them in percent. */
export function guardLimitsOf(config: Config): GuardLimits {
  return {
    absentShare: config.GUARD_ABSENT_PERCENT / 100,
    minimum: config.GUARD_MINIMUM_ROUTES,
    removedPerDayShare: config.GUARD_REMOVED_PER_DAY_PERCENT / 100,
    growthFrom: config.GUARD_GROWTH_FROM_ROUTES,
    growthShare: config.GUARD_GROWTH_PERCENT / 100,
    placesChangedShare: config.GUARD_PLACES_CHANGED_PERCENT / 100,
    agreementShare: config.GUARD_AGREEMENT_PERCENT / 100,
    releaseLists: config.GUARD_RELEASE_LISTS,
    releaseHours: config.GUARD_RELEASE_HOURS,
    releaseLostShare: config.GUARD_RELEASE_LOST_PERCENT / 100,
  }
}

export function verifyRulesOf(config: Config): VerifyDeps['rules'] {
  return {
    requestsPerSecond: config.UPSTREAM_REQUESTS_PER_SECOND,
    minRecheckSeconds: config.MIN_RECHECK_SECONDS,
    lossConfirmations: config.LOSS_CONFIRMATIONS,
    gainConfirmations: config.GAIN_CONFIRMATIONS,
    countGapMs: COUNT_GAP_MS,
  }
}

/** After the very first start the with-availability list is fetched this much later than the routes list. */
const FIRST_AVAILABILITY_MS = 15_000

/** The schedules of both route lists. */
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

/** Sets the longest time between two lists. The alert on the age of a list compares with it. */
export function setIntervalGauges(config: Config, metrics: Metrics, now: Date): void {
  for (const { cron, payload } of schedulesOf(config)) {
    const { list = '' } = payload
    if (list !== '') metrics.syncInterval.set({ list }, longestGapMs(cron, now) / 1000)
  }
}
