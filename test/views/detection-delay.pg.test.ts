import { describe, expect } from 'vitest'
import { type Db, sql } from '../../src/platform/db/database.ts'
import { createMetrics } from '../../src/platform/metrics/metrics.ts'
import type { LegObservation } from '../../src/upstream/observation.ts'
import {
  createDelayReader,
  readDetectionDelays,
  readWaitingChanges,
  WAITING_CHANGES,
} from '../../src/views/detection-delays.ts'
import { readFareGauges } from '../../src/views/fare-gauges.ts'
import {
  available,
  gone,
  minute,
  record,
  trackFare,
  trackFares,
  watchFare,
} from '../fares/fare-fixtures.ts'
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

  it('are found by their index', async ({ db }) => {
    await trackFares(db, 2_000)
    await sql`insert into fare_state (tracked_fare_id, state) select tracked_fare_id, '{}' from fare_schedule`.execute(
      db,
    )
    await sql`analyze fare_state, fare_schedule`.execute(db)

    const { rows } = await sql`explain ${WAITING_CHANGES}`.execute(db)

    expect(JSON.stringify(rows)).toContain('fare_state_contradicted')
    expect(JSON.stringify(rows)).not.toContain('Seq Scan')
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

  it('leaves out what waits where nothing was known, of a fare without a watch, and of one that has ended', async ({
    db,
  }) => {
    await record(db, await trackFare(db, { flightId: 'new' }), minute(28), gone)
    const unwatched = await contradicted(db, 'unwatched', { secondsAgo: 300, answer: gone })
    const ended = await contradicted(db, 'ended', { secondsAgo: 300, answer: gone })
    expect(await readWaitingChanges(db)).toMatchObject([{ fares: 2 }])

    await sql`delete from fare_schedule where tracked_fare_id = ${unwatched}`.execute(db)
    await sql`update fare_state set expired_at = now() where tracked_fare_id = ${ended}`.execute(db)

    expect(await readDetectionDelays(db)).toEqual([])
    expect(await readWaitingChanges(db)).toEqual([])
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
