import { describe, expect } from 'vitest'
import { readPublicTables } from '../../src/history/public-tables.ts'
import { asAnalyst } from '../../src/platform/db/analyst-session.ts'
import { type Db, sql } from '../../src/platform/db/database.ts'
import { readFarePace } from '../../src/schedule/pace-shapes.ts'
import { findFare } from '../../src/views/fare-operations.ts'
import { updateNow } from '../schedule/schedule-fixtures.ts'
import { it } from '../support/test-database.ts'
import { cells, resellerWith } from '../watches/watch-fixtures.ts'
import { trackFare } from './fare-fixtures.ts'

const RULES = { requestsPerSecond: 0.01, minRecheckSeconds: 60 }

interface ScheduleRow {
  readonly rate: number | null
  readonly seconds: number | null
  readonly lane: string | null
  readonly dueSeconds: number | null
}

async function rowOf(db: Db, fareId: number): Promise<ScheduleRow | undefined> {
  const { rows } = await sql<ScheduleRow>`
    select checks_per_second as rate, longest_interval_seconds as seconds, lane,
           due_within_seconds as "dueSeconds"
      from farewatch.fare_schedule where tracked_fare_id = ${fareId}
  `.execute(db)
  return rows[0]
}

describe('fare_schedule', () => {
  it('shows the rate that fares show explains, and who spends it', async ({ db }) => {
    await resellerWith(db, [cells(), cells({ reference: 'B', flight_id: '102' })], 'acme')
    await resellerWith(db, [cells({ priority: 'urgent' })], 'beta')
    const nothing = { rate: null, seconds: null, lane: 'new_watch', dueSeconds: null }
    expect(await rowOf(db, 1)).toEqual(nothing)
    const before = await readFarePace(db, { fareId: 1, now: new Date() })
    expect(before?.why).toContain('it joins the queue within a minute')

    await updateNow(db, RULES)

    // acme spends half of its 0.005 checks a second on each fare, and beta all of its own on the shared one.
    const row = await rowOf(db, 1)
    const pace = await readFarePace(db, { fareId: 1, now: new Date() })
    expect(row).toMatchObject({ rate: expect.closeTo(0.0075), seconds: expect.closeTo(133.33, 1) })
    expect(pace?.resellers).toMatchObject([
      { reseller: 'beta', weight: 20, checksPerSecond: expect.closeTo(0.005) },
      { reseller: 'acme', weight: 2, checksPerSecond: expect.closeTo(0.0025) },
    ])
    expect(pace?.why).toMatch(
      /^about 1\.00 changes a day \(× 1\.00 since its last change, × 1\.00 for its route\); a check about every 133 s: beta every 200 s \(weight 20, score 4\.69\), acme every 400 s \(weight 2, score 1\.48\)$/,
    )
    await sql`update fare_schedule set lane = null, lane_due_at = null`.execute(db)
    const fare = await findFare(db, 1)
    const aheadMs = (fare?.next?.at.getTime() ?? 0) - Date.now()
    expect(aheadMs).toBeLessThan(1_000 * (row?.dueSeconds ?? 0) + 1_000)
  })

  it('has no row for a fare that is not checked any more', async ({ db }) => {
    const fareId = await trackFare(db)
    await sql`delete from fare_schedule`.execute(db)

    expect(await rowOf(db, fareId)).toBeUndefined()
  })

  it('is not readable by analysts, because a rate says how many watches a fare has', async ({
    database,
  }) => {
    const read = asAnalyst(database, ({ query }) => query('select * from fare_schedule'))

    await expect(read).rejects.toThrow('permission denied')
    const tables = await asAnalyst(database, readPublicTables)
    const names = tables.map(({ name }) => name)
    expect(names).toContain('fares_current')
    expect(names).not.toContain('fare_schedule')
  })
})
