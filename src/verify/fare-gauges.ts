import type { Db } from '../db/database.ts'
import type { Metrics } from '../metrics/metrics.ts'
import { readFareCounts } from './fare-queries.ts'

const PAIRS = ['bookable', 'not_bookable', 'unknown']
const INCIDENTS = ['mass_loss', 'upstream_trouble']

/** Sets the gauges of tracked fares from the database. */
export async function readFareGauges(db: Db, metrics: Metrics): Promise<void> {
  const { pairs, oldestGoodAt, incidents } = await readFareCounts(db)
  for (const pair of PAIRS) {
    metrics.trackedFares.set({ pair }, pairs.find((row) => row.pair === pair)?.count ?? 0)
  }
  metrics.oldestDue.set(oldestGoodAt === null ? 0 : oldestGoodAt.getTime() / 1000)
  for (const kind of INCIDENTS)
    metrics.incidentsOpen.set({ kind }, incidents.includes(kind) ? 1 : 0)
}
