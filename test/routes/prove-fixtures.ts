import { type Db, sql } from '../../src/platform/db/database.ts'
import { type ProofResult, proveHistory } from '../../src/routes/prove/prove-history.ts'
import { siteNamed, soldBy } from '../fares/answers.ts'
import {
  available,
  endFares,
  gone,
  minute,
  passSeconds,
  recordAll,
  trackFare,
  watchFare,
} from '../fares/fare-fixtures.ts'
import { approve, hoursPass } from './held-fixtures.ts'
import { manyRoutes, NO_GUARD, noScrub, place, route, routes, sync } from './sync-fixtures.ts'

const never = new AbortController().signal

export function prove(db: Db): Promise<ProofResult> {
  return proveHistory({ db, scrub: noScrub, confirmations: 2 }, { signal: never })
}

export const LISTED = { list: 'with-availability', guard: NO_GUARD } as const
const ALL = manyRoutes(100)

/** The held lists of both kinds are approved, the routes first: 40 routes are removed, 20 are added, half of them available. */
export async function approveBoth(db: Db): Promise<void> {
  await sync(db, ALL)
  await sync(db, ALL, LISTED)
  await hoursPass(db, 3)
  const fresh = manyRoutes(20, 'NEW')
  const ofRoutes = await sync(db, [...ALL.slice(0, 60), ...fresh])
  const listed = [...ALL.slice(0, 50), ...fresh.slice(0, 10)]
  const ofAvailability = await sync(db, listed, { list: 'with-availability' })
  await approve(db, ofRoutes.runId)
  await approve(db, ofAvailability.runId)
}

/** Routes end, return and begin, availability is lost and gained, and a place gets another name. */
export async function syncChanges(db: Db): Promise<void> {
  const renamed = (pair: string) => {
    const { departure, destination } = route(pair)
    return { departure: place(departure.id, { city: 'Renamed' }), destination }
  }
  const pairs = ['A-B', 'A-C', 'A-D', 'A-E']
  const steps = [
    [routes(...pairs), routes('A-B', 'A-C', 'A-D')],
    [routes('A-B', 'A-C'), routes('A-B')],
    [pairs.slice(0, 2).map(renamed), routes('A-B')],
    [pairs.map(renamed), routes('A-B', 'A-D')],
    [pairs.map(renamed), routes('A-B', 'A-C', 'A-D')],
  ] as const
  for (const [all, listed] of steps) {
    await sync(db, all, { guard: NO_GUARD })
    await sync(db, listed, LISTED)
  }
}

/** Two watched fares: both are bookable at two prices in turn, are lost and found again, and end. */
export async function changeFares(db: Db): Promise<number[]> {
  const fares = [
    await trackFare(db, { flightId: 'F1' }),
    await trackFare(db, { flightId: 'F2', returnFlightId: 'F3' }),
  ]
  for (const [at, fare] of fares.entries()) {
    await watchFare(db, 'ana', fare)
    await watchFare(db, 'ben', fare, { reference: `b${at}` })
    await sql`update tracked_fare set watchers = 2 where id = ${fare}`.execute(db)
  }
  // The second answer is the first that names a site.
  const sold = (amount: string) => soldBy(available(amount), siteNamed('One'))
  const answers = [
    available(),
    sold('100.00'),
    sold('90.00'),
    sold('90.00'),
    gone,
    gone,
    available('95.00'),
    available('95.00'),
  ]
  for (const [at, answer] of answers.entries()) {
    await recordAll(db, fares.slice(0, 1), minute(at), answer)
    await recordAll(db, fares.slice(1), minute(at), answer, available('50.00'))
    if (at === 0) await passSeconds(db, 3_600)
  }
  return fares
}

export async function endFaresNow(db: Db): Promise<void> {
  await sql`update fare_state set departs_at = clock_timestamp() - interval '1 minute'`.execute(db)
  await endFares(db)
}
