import { describe, expect } from 'vitest'
import { type Db, sql } from '../../src/platform/db/database.ts'
import { nextDispatchMs } from '../../src/schedule/claim.ts'
import { correctSetBack } from '../../src/schedule/due.ts'
import { dispatch, pass, scheduleOf, trackFares } from '../schedule/schedule-fixtures.ts'
import { it } from '../support/test-database.ts'

const BUDGET = 100

/** Sets the clock back, as far as the schedule can see: all that it has written lies further ahead. */
async function setBack(db: Db, seconds: number): Promise<void> {
  const by = sql`make_interval(secs => ${seconds})`
  await sql`
    update fare_schedule
       set not_before = not_before + ${by}, lane_due_at = lane_due_at + ${by}, leased_until = leased_until + ${by}
  `.execute(db)
  await sql`
    update upstream_budget set next_slot_at = next_slot_at + ${by}, next_lane_at = next_lane_at + ${by}
  `.execute(db)
  await sql`update reseller_queue set moved_at = moved_at + ${by}`.execute(db)
  await sql`
    update schedule_facts set claimed_at = claimed_at + ${by}, learned_at = learned_at + ${by}
  `.execute(db)
}

describe('after the clock of the database was set back', () => {
  // Fault: The database's clock is set back an hour. Checks go on within a minute; what was recorded before is unknown until
  // the next check, which counts; history stays in order; an alert reports it.
  it('the fares whose times lie further ahead than their interval are due, and are claimed', async ({
    db,
  }) => {
    const [ahead = 0, urgent = 0, claimed = 0] = await trackFares(db, [
      { notBefore: 30 },
      { notBefore: 30, lane: 'confirmation' },
      {},
    ])
    await sql`update fare_schedule set interval_seconds = 60`.execute(db)
    await sql`
      update fare_schedule set lane_due_at = clock_timestamp() + interval '20 seconds' where tracked_fare_id = ${urgent}
    `.execute(db)
    expect(await dispatch(db, BUDGET)).toEqual([claimed])

    await setBack(db, 600)
    expect(await nextDispatchMs(db)).toBeGreaterThan(500_000)
    await correctSetBack(db, BUDGET)

    expect((await scheduleOf(db, ahead)).notBefore).toBeLessThanOrEqual(0)
    expect((await scheduleOf(db, urgent)).laneDue).toBeLessThanOrEqual(0)
    // Slots that were reserved before are used first.
    expect(await nextDispatchMs(db)).toBeLessThanOrEqual(5_000)
    await pass(db, 6)
    expect(await dispatch(db, BUDGET)).toEqual([urgent, ahead])
    const { rows } = await sql<{ seconds: number }>`
      select extract(epoch from leased_until - clock_timestamp())::float8 as seconds
        from fare_schedule where tracked_fare_id = ${claimed}
    `.execute(db)
    expect(rows[0]?.seconds).toBeLessThanOrEqual(60)
  })

  // Fault: The database's clock is set back an hour. Checks go on within a minute; what was recorded before is unknown until
  // the next check, which counts; history stays in order; an alert reports it.
  it('one process reports it, once, and by how much; a second reading of the clock is none', async ({
    db,
  }) => {
    expect(await correctSetBack(db, BUDGET)).toBe(0)
    await dispatch(db, BUDGET)
    expect(await correctSetBack(db, BUDGET)).toBe(0)

    await setBack(db, 600)
    // Another process claims before it is noticed.
    await dispatch(db, BUDGET)
    const reported = await Promise.all([correctSetBack(db, BUDGET), correctSetBack(db, BUDGET)])

    expect(reported.toSorted((a, b) => a - b)).toEqual([0, expect.closeTo(600, -1)])
    expect(await correctSetBack(db, BUDGET)).toBe(0)
    await setBack(db, 5)
    expect(await correctSetBack(db, BUDGET)).toBe(0)
  })
})
