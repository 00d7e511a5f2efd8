import { describe, expect } from 'vitest'
import { openDatabase, sql } from '../../src/db/database.ts'
import { inTransaction } from '../../src/db/transaction.ts'
import { silentLog } from '../support/silent-log.ts'
import { it } from '../support/test-database.ts'
import { complete, dispatch, pass, scheduleOf, trackFares } from './recheck-fixtures.ts'

const RATE = 10
const TEN_MINUTES = 600

/** A fare that was checked while it was the only one, before others were added. */
async function checkedAlone(db: Parameters<typeof dispatch>[0], others: number): Promise<number> {
  const [alone = 0] = await trackFares(db, [{ minIntervalSeconds: TEN_MINUTES }])
  await dispatch(db, RATE)
  await complete(db, [{ fareId: alone, askedAt: new Date(), next: 'normal' }])
  await trackMore(db, others)
  return alone
}

async function trackMore(db: Parameters<typeof dispatch>[0], count: number): Promise<void> {
  await sql`
    with fare as (
      insert into tracked_fare (flight_id, residents_adults, residents_children, residents_infants,
                                non_residents_adults, non_residents_children, non_residents_infants)
      select 'G' || i, 0, 0, 0, 1, 0, 0 from generate_series(1, ${count}::int) i
      returning id)
    insert into fare_schedule (tracked_fare_id, vdue)
    select id, (select v from recheck_payer where reseller_id = 0) from fare
  `.execute(db)
}

describe('a fare whose minimum interval has ended', () => {
  it('the fare waits for at most one check of every other, however many were added meanwhile', async ({
    db,
  }) => {
    const alone = await checkedAlone(db, 80)
    // Ten minutes were worth six thousand checks of the only fare.
    expect((await scheduleOf(db, alone)).vdue).toBeGreaterThan(1_000)

    await pass(db, TEN_MINUTES)
    const asked: number[] = []
    for (let seconds = 0; seconds < 300; seconds += 60) {
      const checked = await dispatch(db, RATE)
      asked.push(...checked)
      await complete(
        db,
        checked.map((fareId) => ({ fareId, askedAt: new Date(), next: 'normal' })),
      )
      // The minimum intervals of the others have ended: they are due again.
      await pass(db, 70)
    }

    expect(asked.length).toBeGreaterThan(3 * 81)
    // It is checked at the end of the first round.
    expect(asked.slice(0, 2 * 81)).toContain(alone)
  })

  it('a fare that another transaction holds is capped a minute later', async ({
    db,
    databaseUrl,
  }) => {
    const alone = await checkedAlone(db, 80)
    await pass(db, TEN_MINUTES)
    const other = openDatabase({ url: databaseUrl, applicationName: 'test', log: silentLog })
    await inTransaction(other.db, async (tx) => {
      await sql`select from fare_schedule where tracked_fare_id = ${alone} for update`.execute(tx)
      await dispatch(db, RATE)
    })
    await other.close()
    expect((await scheduleOf(db, alone)).vdue).toBeGreaterThan(1_000)

    await pass(db, 70)
    await dispatch(db, RATE)

    expect((await scheduleOf(db, alone)).vdue).toBeLessThan(5)
  })
})
