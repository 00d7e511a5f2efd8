import type { Db } from '../db/database.ts'
import { searchDemoFlights } from '../sandbox/demo-flights.ts'
import type { World } from '../sandbox/world.ts'
import { importWatchList } from '../watch/import-watch-list.ts'
import { rowsOf } from '../watch/open-watch-file.ts'
import { createReseller } from '../watch/resellers.ts'
import { findReseller } from '../watch/watch-queries.ts'

export const DEMO_RESELLER = 'demo'
const FLIGHTS = 40

/**
 * Gives the demo reseller a watch list of flights in the sandbox's world that leave soon, half of which change
 * within its next hours. At each start anew: the world has moved on, and yesterday's flights have left.
 * @param instant the world's time now.
 */
export async function importDemoWatches(db: Db, world: World, instant: Date): Promise<number> {
  const reseller =
    (await findReseller(db, DEMO_RESELLER)) ?? (await createReseller(db, DEMO_RESELLER))
  const rows = searchDemoFlights(world, instant, FLIGHTS).map((flightId, i) => ({
    list: 'demo',
    reference: `demo-${String(i + 1).padStart(2, '0')}`,
    flight_id: flightId,
    residents_adults: '0',
    non_residents_adults: String(1 + (i % 3)),
  }))
  await importWatchList(db, { resellerId: reseller.id, source: rowsOf('the demo', rows) })
  return rows.length
}
