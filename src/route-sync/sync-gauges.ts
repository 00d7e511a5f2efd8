import type { Db } from '../db/database.ts'
import type { Metrics } from '../metrics/metrics.ts'
import { countRoutes, readSyncStates } from './read/route-queries.ts'
import { countRuns } from './runs/sync-run-queries.ts'

/** Sets the gauges of route sync from the database. */
export async function readSyncGauges(db: Db, metrics: Metrics): Promise<void> {
  for (const { list, lastSuccessAt, lastAttemptAt, held } of await readSyncStates(db)) {
    metrics.syncLastSuccess.set({ list }, seconds(lastSuccessAt))
    metrics.syncLastAttempt.set({ list }, seconds(lastAttemptAt))
    metrics.syncHeld.set({ list }, held)
  }
  for (const { list, status, count } of await countRuns(db)) {
    metrics.syncRunsRecorded.set({ list, status }, count)
  }
  const { live, available } = await countRoutes(db)
  metrics.routesLive.set(live)
  metrics.routesAvailable.set(available)
}

function seconds(instant: Date | null): number {
  return instant === null ? 0 : instant.getTime() / 1000
}
