import type { Config } from '../config/config.ts'
import type { GuardLimits } from '../route-sync/plan/guard.ts'

/** The guard's limits, of which people think in percent. */
export function guardOf(config: Config): GuardLimits {
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
