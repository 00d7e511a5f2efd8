import { describe, expect } from 'vitest'
import { sql } from '../../src/platform/db/database.ts'
import { pauseWatches } from '../../src/watches/change-watches.ts'
import { it } from '../support/test-database.ts'
import { cells, fareRows, importRows, resellerWith } from './watch-fixtures.ts'

describe('a fare has of its watches', () => {
  it('the interval that they ask before a worker has run, or else a minute', async ({ db }) => {
    await resellerWith(db, [
      cells({ reference: 'A', flight_id: '1' }),
      cells({ reference: 'B', flight_id: '2', min_interval_seconds: '900' }),
    ])

    const { rows } = await sql<{ seconds: number }>`
      select interval_seconds as seconds from fare_schedule order by 1
    `.execute(db)
    expect(rows).toEqual([{ seconds: 60 }, { seconds: 900 }])
  })

  it('the smallest interval and the latest departure of those that are active', async ({ db }) => {
    const resellerId = await resellerWith(db, [
      cells({ reference: 'A', departs_on: '2030-01-01', min_interval_seconds: '900' }),
      cells({ reference: 'B', departs_on: '2030-01-03', min_interval_seconds: '300' }),
      cells({ reference: 'C', departs_on: '2030-01-02', min_interval_seconds: '1500' }),
    ])
    const all = await fareRows(db)

    await pauseWatches(db, { resellerId, list: 'summer', references: ['B'] })
    const withoutB = await fareRows(db)
    await importRows(db, resellerId, [cells({ reference: 'A', min_interval_seconds: '1200' })])
    const withoutDate = await fareRows(db)
    await resellerWith(db, [cells({ reference: 'any' })], 'other')

    expect(all).toMatchObject([{ departsOn: '2030-01-03', minIntervalSeconds: 300 }])
    expect(withoutB).toMatchObject([{ departsOn: '2030-01-02', minIntervalSeconds: 900 }])
    expect(withoutDate).toMatchObject([{ departsOn: null, minIntervalSeconds: 1200 }])
    // A watch without an interval asks for the shortest one, so another watch's long interval does not apply.
    expect(await fareRows(db)).toMatchObject([{ departsOn: null, minIntervalSeconds: null }])
  })

  it('for each reseller the sum of the priorities of those that are active', async ({ db }) => {
    const resellerId = await resellerWith(db, [
      cells({ reference: 'A', priority: 'low' }),
      cells({ reference: 'B', priority: 'high' }),
      cells({ reference: 'C' }),
    ])
    await resellerWith(db, [cells({ priority: 'urgent' })], 'other')
    const weights = async () => {
      const { rows } = await sql<{ weight: number }>`
        select weight from turn order by reseller_id
      `.execute(db)
      return rows.map(({ weight }) => weight)
    }
    const all = await weights()

    await importRows(db, resellerId, [cells({ reference: 'C', priority: 'urgent' })])
    const raised = await weights()
    await pauseWatches(db, { resellerId, list: 'summer', references: ['B'] })

    expect(all).toEqual([8, 20])
    expect(raised).toEqual([26, 20])
    expect(await weights()).toEqual([21, 20])
  })

  it('the interval that they ask now, not an earlier, longer one', async ({ db }) => {
    const month = '2592000'
    const resellerId = await resellerWith(db, [cells({ min_interval_seconds: month })])
    await sql`
      update fare_schedule set not_before = clock_timestamp() + interval '30 days', lane = null, lane_due_at = null
    `.execute(db)
    await sql`update turn set vdue = 2592000`.execute(db)
    await sql`update watch set started_at = clock_timestamp()`.execute(db)

    await importRows(db, resellerId, [cells({ min_interval_seconds: '600' })])

    const { rows } = await sql<{ waitSeconds: number }>`
      select extract(epoch from not_before - clock_timestamp())::float8 as "waitSeconds" from fare_schedule
    `.execute(db)
    expect(rows[0]?.waitSeconds).toBeLessThanOrEqual(600)
    // It is the only one, so virtual time passes as fast as it is checked: once a second at most.
    const [{ vdues } = { vdues: [] }] = await fareRows(db)
    expect(vdues[0]).toBeLessThanOrEqual(600)
  })
})
