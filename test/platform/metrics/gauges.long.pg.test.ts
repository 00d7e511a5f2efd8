import { describe, expect } from 'vitest'
import { type Db, sql } from '../../../src/platform/db/database.ts'
import { createMetrics } from '../../../src/platform/metrics/metrics.ts'
import { setHealthGauges } from '../../../src/upstream/telemetry.ts'
import { readCheckGauges, readFareGauges } from '../../../src/views/fare-gauges.ts'
import { trackFares } from '../../schedule/schedule-fixtures.ts'
import { it } from '../../support/test-database.ts'

interface Gauge {
  get(): Promise<{ values: readonly { labels: object; value: number }[] }>
}

/** The values of a gauge by its one label, or the one value. */
async function valuesOf(gauge: Gauge): Promise<Record<string, number | undefined>> {
  const { values } = await gauge.get()
  return Object.fromEntries(
    values.map(({ labels, value }) => [Object.values(labels).join(), value]),
  )
}

/** Records when a fare had its last good check. */
async function answered(db: Db, fareId: number, secondsAgo: number): Promise<void> {
  await sql`
    insert into fare_state (tracked_fare_id, pair, outbound, state, last_good_check_at)
    values (${fareId}, 'bookable', 'available', '{}', clock_timestamp() - make_interval(secs => ${secondsAgo}))
  `.execute(db)
}

const nowSeconds = () => Date.now() / 1000

describe('the gauges of fares', () => {
  it('count beliefs and stale beliefs, and hold the age of the good checks by share', async ({
    db,
  }) => {
    const ages = [60, 120, 180, 5_000]
    const fares = await trackFares(db, [{}, {}, {}, {}, {}])
    for (const [i, age] of ages.entries()) await answered(db, fares[i] ?? 0, age)
    // The last fare was checked but never had a good check, so it has no belief.
    await sql`insert into fare_state (tracked_fare_id, state) values (${fares[4] ?? 0}, '{}')`.execute(
      db,
    )
    const metrics = createMetrics()

    await readFareGauges(db, metrics)

    expect(await valuesOf(metrics.trackedFares)).toEqual({
      bookable: 4,
      not_bookable: 0,
      hidden: 0,
      unknown: 1,
    })
    expect(await valuesOf(metrics.beliefsStale)).toMatchObject({ bookable: 1, not_bookable: 0 })
    const since = await valuesOf(metrics.beliefsGoodSince)
    const old = (share: string) => Math.round((nowSeconds() - (since[share] ?? 0)) / 10) * 10
    expect([old('0.5'), old('0.95'), old('1')]).toEqual([180, 5_000, 5_000])
  })
})

describe('the gauges of due checks', () => {
  it('hold by lane how many fares wait, and since when', async ({ db }) => {
    const beginSeconds = nowSeconds()
    const fares = await trackFares(db, [
      { notBefore: -300 },
      { notBefore: -20 },
      { notBefore: 900 },
      { lane: 'confirmation', notBefore: 900 },
      { lane: 'max_delay', notBefore: -20 },
    ])
    // It is urgent in a minute, and may have its turn before that.
    await sql`
      update fare_schedule set lane_due_at = lane_due_at + interval '1 minute' where tracked_fare_id = ${fares[4]}
    `.execute(db)
    const metrics = createMetrics()

    await readCheckGauges(db, metrics, 7)
    const endSeconds = nowSeconds()

    expect(await valuesOf(metrics.budgetRate)).toEqual({ '': 7 })
    expect(await valuesOf(metrics.checksDue)).toEqual({
      scheduled: 3,
      max_delay: 0,
      confirmation: 1,
      first_check: 0,
      retry: 0,
    })
    const oldest = await valuesOf(metrics.checksOldestDue)
    expect(oldest.scheduled).toBeGreaterThan(beginSeconds - 301)
    expect(oldest.scheduled).toBeLessThan(endSeconds - 299)
    expect(oldest).toMatchObject({ max_delay: 0, first_check: 0, retry: 0 })
  })
})

describe('the gauges of the upstream', () => {
  const paused = (interval: string, share: number) => sql`
    update upstream_budget
       set paused_until = clock_timestamp() + ${interval}::interval, share = ${share},
           recovers_from = clock_timestamp() + interval '1 hour'
  `

  it('hold a budget of 0 during a pause, and a part of it afterwards', async ({ db }) => {
    const metrics = createMetrics()
    const ratio = async () => {
      await setHealthGauges(db, metrics)
      return (await valuesOf(metrics.upstreamBudgetRatio))['']
    }

    const untroubled = await ratio()
    await paused('15 minutes', 1).execute(db)
    const during503 = await ratio()
    await paused('15 minutes', 0.7).execute(db)
    const during429 = await ratio()
    await paused('-1 seconds', 0.7).execute(db)

    expect([untroubled, during503, during429, await ratio()]).toEqual([1, 0, 0, 0.7])
  })
})
