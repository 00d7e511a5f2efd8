import { describe, expect } from 'vitest'
import { type Db, sql } from '../../src/platform/db/database.ts'
import { createMetrics } from '../../src/platform/metrics/metrics.ts'
import type { LegObservation } from '../../src/upstream/observation.ts'
import { readDetectionDelays, readWaitingChanges } from '../../src/views/detection-delays.ts'
import { readFareGauges } from '../../src/views/fare-gauges.ts'
import { available, gone, minute, record, trackFare } from '../fares/fare-fixtures.ts'
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

/** A fare that was bookable until five minutes before its last answer, which contradicts that. */
async function contradicted(
  db: Db,
  flightId: string,
  { secondsAgo, answer }: { readonly secondsAgo: number; readonly answer: LegObservation },
): Promise<number> {
  const fareId = await trackFare(db, { flightId })
  const at = Date.now() - secondsAgo * 1_000
  await record(db, fareId, new Date(at - 300_000), available('100.00'))
  await record(db, fareId, new Date(at), answer)
  return fareId
}

describe('the changes that wait', () => {
  it('are counted by how they wait, with the first answer that showed the oldest', async ({
    db,
  }) => {
    for (const secondsAgo of [40, 20, 301, 600]) {
      await contradicted(db, `F${secondsAgo}`, { secondsAgo, answer: gone })
    }
    const held = await contradicted(db, 'held', { secondsAgo: 700, answer: gone })
    await sql`
      update fare_state set held_since = clock_timestamp(), hidden = 'held' where tracked_fare_id = ${held}
    `.execute(db)

    const waits = await readWaitingChanges(db)

    const agoOf = (since: Date) => Math.round((Date.now() - since.getTime()) / 60_000)
    expect(waits.map(({ wait, fares, since }) => [wait, fares, agoOf(since)])).toEqual([
      ['confirmation', 2, 1],
      ['late', 2, 10],
      ['held', 1, 12],
    ])
    const metrics = createMetrics()
    await readFareGauges(db, metrics)
    const values = async (gauge: typeof metrics.changesWaiting) =>
      (await gauge.get()).values.map(({ labels, value }) => [labels.wait, value])
    expect(await values(metrics.changesWaiting)).toEqual([
      ['confirmation', 2],
      ['late', 2],
      ['held', 1],
    ])
    expect(await values(metrics.changesOldestWaiting)).toEqual(
      waits.map(({ wait, since }) => [wait, since.getTime() / 1_000]),
    )
  })
})

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
      waiting: 0,
      midpointSeconds: { p50: percentile(midpoints, 0.5), p95: percentile(midpoints, 0.95) },
      atMostSeconds: { p50: percentile(bounds, 0.5), p95: percentile(bounds, 0.95) },
    })
  })

  it.for([
    ['a loss', gone],
    // Good checks go on meanwhile, but none shows the old price.
    ['a price', available('500.00')],
    ['another flight', available('100.00', { identity: 'VY|1|PMI-BCN|2027-01-10' })],
  ] as const)('counts %s that waits with its time until now', async ([, answer], { db }) => {
    await contradicted(db, 'F1', { secondsAgo: 300, answer })
    await changeWithin(db, 'F2', 60)

    const [delay] = await readDetectionDelays(db)

    expect(delay).toMatchObject({ changes: 2, waiting: 1 })
    // The last check without it was ten minutes ago, and the first with it five.
    expect(Math.round((delay?.atMostSeconds.p95 ?? 0) / 60)).toBe(10)
    expect(Math.round((delay?.midpointSeconds.p95 ?? 0) / 30)).toBe(15)
  })
})
