import type { Db } from '../db/database.ts'
import { searchDemoFlights } from '../sandbox/world/demo-flights.ts'
import type { World } from '../sandbox/world/world.ts'
import { rowsOf } from '../watch/files/open-watch-file.ts'
import { importWatchList } from '../watch/import/import-watch-list.ts'
import { createReseller, requireReseller } from '../watch/resellers.ts'
import { DuplicateResellerError } from '../watch/rows/watch-errors.ts'
import { findReseller, type Reseller } from '../watch/watch-queries.ts'

export const DEMO_RESELLER = 'demo'
const FLIGHTS = 40

/** The demo reseller, made by whichever process comes first. */
export async function ensureDemoReseller(db: Db): Promise<Reseller> {
  const found = await findReseller(db, DEMO_RESELLER)
  if (found !== undefined) return found
  return createReseller(db, DEMO_RESELLER).catch((err: unknown) => {
    if (err instanceof DuplicateResellerError) return requireReseller(db, DEMO_RESELLER)
    throw err
  })
}

/**
 * Gives the demo reseller a watch list of flights in the sandbox's world that leave soon, half of which change
 * within its next hours. At each start anew: the world has moved on, and yesterday's flights have left.
 * @param instant the world's time now.
 */
export async function importDemoWatches(db: Db, world: World, instant: Date): Promise<number> {
  const reseller = await ensureDemoReseller(db)
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
