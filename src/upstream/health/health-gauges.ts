import type { Db } from '../../db/database.ts'
import type { Metrics } from '../../metrics/metrics.ts'
import { BREAKERS, ENDPOINT_GROUPS } from '../breaker/breaker-state.ts'
import { readHealth } from '../breaker/breaker-store.ts'

/** Sets the gauges of the upstream's health from the database. */
export async function setHealthGauges(db: Db, metrics: Metrics): Promise<void> {
  const { breakers, pausedUntilMs, share } = await readHealth(db)
  for (const endpoint of ENDPOINT_GROUPS) {
    for (const breaker of BREAKERS) {
      const isOpen = breakers[endpoint][breaker].open !== null
      metrics.upstreamBreakerOpen.set({ endpoint, breaker }, isOpen ? 1 : 0)
    }
  }
  metrics.upstreamPausedUntil.set(pausedUntilMs / 1000)
  metrics.upstreamBudgetRatio.set(share)
}
