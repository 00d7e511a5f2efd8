import { describe, expect } from 'vitest'
import { type Db, sql } from '../../src/platform/db/database.ts'
import { createMetrics } from '../../src/platform/metrics/metrics.ts'
import { createDelayReader, readDetectionDelays } from '../../src/views/detection-delays.ts'
import { readFareGauges } from '../../src/views/fare-gauges.ts'
import { available, gone, minute, record, trackFare, watchFare } from '../fares/fare-fixtures.ts'
import { it } from '../support/test-database.ts'

/** A price change of a new fare, whose bounds are this many seconds apart. */
async function changeWithin(db: Db, flightId: string, seconds: number): Promise<number> {
  const fareId = await trackFare(db, { flightId })
  const first = minute(0)
  await record(db, fareId, first, available('100.00'))
  await record(db, fareId, new Date(first.getTime() + seconds * 1000), available('110.00'))
  await recordedAfter(db, fareId, 0)
  return fareId
}

/** The changes of a fare were recorded so many seconds after the first answer that showed them. */
async function recordedAfter(db: Db, fareId: number, seconds: number): Promise<void> {
  await sql`
    update availability_change set recorded_at = detected_at + make_interval(secs => ${seconds})
     where tracked_fare_id = ${fareId}
  `.execute(db)
}

/** The smallest value that at least this share of the values does not exceed. */
function percentile(values: readonly number[], share: number): number | undefined {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.ceil(share * sorted.length) - 1]
}

describe('the detection delay', () => {
  it('has the bounds and the midpoints of the changes of the last day, as counted one by one', async ({
    db,
  }) => {
    const bounds = Array.from({ length: 23 }, (_, i) => 30 + ((i * 37) % 23) * 17)
    for (const [i, seconds] of bounds.entries()) await changeWithin(db, `F${i}`, seconds)

    const [delay, ...others] = await readDetectionDelays(db)

    const midpoints = bounds.map((seconds) => seconds / 2)
    expect(others).toEqual([])
    expect(delay).toEqual({
      priority: 'all',
      // Each fare also became available: nothing was known before, so this change has no delay.
      changes: bounds.length,
      midpointSeconds: { p50: percentile(midpoints, 0.5), p95: percentile(midpoints, 0.95) },
      atMostSeconds: { p50: percentile(bounds, 0.5), p95: percentile(bounds, 0.95) },
    })
  })

  it('is grouped by the highest priority of the present watches of a fare', async ({ db }) => {
    const watches = [
      ['F1', 60, ['low', 'urgent']],
      ['F2', 600, ['normal']],
      ['F3', 120, ['urgent']],
      ['F4', 6_000, []],
    ] as const
    for (const [flightId, seconds, priorities] of watches) {
      const fareId = await changeWithin(db, flightId, seconds)
      for (const priority of priorities) {
        await watchFare(db, priority, fareId)
        await sql`
          update watch set priority = ${priority} from reseller r
           where r.id = watch.reseller_id and r.name = ${priority}
        `.execute(db)
      }
    }

    const groups = async () =>
      (await readDetectionDelays(db)).map(({ priority, changes, atMostSeconds }) => [
        priority,
        changes,
        atMostSeconds.p95,
      ])

    expect(await groups()).toEqual([
      ['all', 4, 6_000],
      ['urgent', 2, 120],
      ['normal', 1, 600],
    ])
    await sql`update watch set paused_at = clock_timestamp() where priority = 'urgent'`.execute(db)
    expect(await groups()).toEqual([
      ['all', 4, 6_000],
      ['normal', 1, 600],
      ['low', 1, 60],
    ])
  })

  it('ends with the record: the time for confirmations and in a hold is part of it', async ({
    db,
  }) => {
    const fareId = await trackFare(db)
    await record(db, fareId, minute(0), available())
    await record(db, fareId, minute(4), gone)
    await record(db, fareId, minute(5), gone)
    await recordedAfter(db, fareId, 60)

    // The loss was between the minutes 0 and 4, and recorded in minute 5.
    expect(await readDetectionDelays(db)).toMatchObject([
      { changes: 1, midpointSeconds: { p50: 180 }, atMostSeconds: { p50: 300, p95: 300 } },
    ])
  })

  it('leaves out what no check of the last day detected', async ({ db }) => {
    for (const flightId of ['old', 'reversed', 'ended', 'counted']) {
      await changeWithin(db, flightId, flightId === 'counted' ? 60 : 600)
    }
    const set = (flightId: string, columns: string) =>
      sql`
        update availability_change c set ${sql.raw(columns)}
          from tracked_fare f
         where f.id = c.tracked_fare_id and f.flight_id = ${flightId} and c.kind = 'price_changed'
      `.execute(db)
    await set('old', "recorded_at = clock_timestamp() - interval '25 hours'")
    await set('reversed', 'evidence_hash = null')
    await set('ended', "kind = 'expired', reason = 'departed'")

    expect(await readDetectionDelays(db)).toMatchObject([
      { changes: 1, atMostSeconds: { p95: 60 } },
    ])
  })

  it('is read once a minute for all requests', async ({ db }) => {
    let nowMs = 0
    const read = createDelayReader(db, () => nowMs)
    expect(await read()).toEqual([])
    await changeWithin(db, 'F1', 60)
    expect(await read()).toEqual([])

    nowMs = 60_000
    expect(await read()).toMatchObject([{ changes: 1 }])
  })

  it('is a metric, without values while there are no changes', async ({ db }) => {
    const metrics = createMetrics()
    await changeWithin(db, 'F1', 60)
    const values = async () => {
      await readFareGauges(db, metrics)
      const { values: found } = await metrics.detectionDelay.get()
      return found.map(({ labels, value }) => [labels.priority, labels.bound, labels.share, value])
    }

    expect(await values()).toEqual([
      ['all', 'midpoint', '0.5', 30],
      ['all', 'midpoint', '0.95', 30],
      ['all', 'at_most', '0.5', 60],
      ['all', 'at_most', '0.95', 60],
    ])
    await sql`update availability_change set recorded_at = '2020-01-01Z'`.execute(db)
    expect(await values()).toEqual([])
  })
})
