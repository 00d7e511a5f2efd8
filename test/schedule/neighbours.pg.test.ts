import { describe, expect } from 'vitest'
import { type Db, sql } from '../../src/platform/db/database.ts'
import { inTransaction } from '../../src/platform/db/transaction.ts'
import { bringNeighbours, changeQueues } from '../../src/schedule/queues.ts'
import { it } from '../support/test-database.ts'
import { complete, dispatch, type NewFare, trackFares, UNCHANGED } from './schedule-fixtures.ts'

const ROUTE = 'PMI-MAD'

/** Fares of one route, whose turns are far ahead; the first was checked a minute less long ago than the next. */
async function trackRoute(db: Db, fares: readonly NewFare[], credit = 100): Promise<number[]> {
  const made = await trackFares(
    db,
    fares.map((fare) => ({ vdue: 100, ...fare })),
  )
  await sql`
    update fare_schedule
       set route = ${ROUTE},
           rated_at = clock_timestamp() - make_interval(mins => 60 + (tracked_fare_id - ${made[0] ?? 0})::int)
  `.execute(db)
  await sql`update reseller_queue set v = 50, credit = ${credit}`.execute(db)
  return made
}

async function bring(db: Db, ...routes: readonly string[]): Promise<void> {
  await inTransaction(db, async (tx) => changeQueues(tx, await bringNeighbours(tx, routes)))
}

/** The fares that have come forward in the queue of a reseller. */
async function forwardOf(db: Db, reseller = 1): Promise<number[]> {
  const { rows } = await sql<{ id: number }>`
    select tracked_fare_id as id from turn where reseller_id = ${reseller} and vdue = 50 order by id
  `.execute(db)
  return rows.map(({ id }) => id)
}

async function creditsOf(db: Db): Promise<number[]> {
  const { rows } = await sql<{ credit: number }>`
    select credit from reseller_queue order by reseller_id
  `.execute(db)
  return rows.map(({ credit }) => credit)
}

const many = (count: number, fare: NewFare = {}) => Array.from({ length: count }, () => fare)

describe('the neighbours of a fare that changes', () => {
  it('a check that finds a change brings the next four fares of its route forward', async ({
    db,
  }) => {
    const fares = await trackRoute(db, many(8))
    const [changed = 0] = fares
    const check = { fareId: changed, askedAt: new Date(), next: 'normal' as const }

    await complete(db, [{ ...check, rating: { ...UNCHANGED, route: ROUTE } }])
    expect(await forwardOf(db)).toEqual([])
    await complete(db, [{ ...check, rating: { ...UNCHANGED, route: ROUTE, changed: true } }])

    // Those that were checked the longest ago.
    expect(await forwardOf(db)).toEqual(fares.slice(4))
    expect(await creditsOf(db)).toEqual([96])
  })

  it('a fare comes forward for the resellers that have credit, as far as it goes', async ({
    db,
  }) => {
    const fares = await trackRoute(db, many(2, { resellers: [1, 2] }))
    await sql`update reseller_queue set credit = 1.9 where reseller_id = 2`.execute(db)

    await bring(db, ROUTE)

    expect(await forwardOf(db, 1)).toEqual(fares)
    expect(await forwardOf(db, 2)).toEqual(fares.slice(0, 1))
    expect(await creditsOf(db)).toEqual([98, expect.closeTo(0.9)])
  })

  it('a reseller has credit for two fifths of its turns', async ({ db }) => {
    await trackFares(db, many(10))
    await trackFares(db, many(5, { lane: 'confirmation' }))

    await dispatch(db, 10)

    expect(await creditsOf(db)).toEqual([expect.closeTo(4, 9)])
  })
})
