import { describe, expect } from 'vitest'
import { readFeedGauges } from '../../../src/feeds/feed-bounds.ts'
import { MASS_KINDS } from '../../../src/platform/base/change-kinds.ts'
import { type Db, sql } from '../../../src/platform/db/database.ts'
import { createMetrics } from '../../../src/platform/metrics/metrics.ts'
import { setHealthGauges } from '../../../src/upstream/telemetry.ts'
import { readCheckGauges, readFareGauges } from '../../../src/views/fare-gauges.ts'
import { available, gone, minute, record, trackFare, watchFare } from '../../fares/fare-fixtures.ts'
import {
  exportsSystem,
  killWorker,
  readMetrics,
  startWorker,
  untilReady,
} from '../../fares/worker-fixtures.ts'
import { manyRoutes, sync } from '../../routes/sync-fixtures.ts'
import { trackFares } from '../../schedule/schedule-fixtures.ts'
import { startInTest } from '../../support/child-process.ts'
import { it } from '../../support/test-database.ts'
import { until } from '../../support/until.ts'

const NO_INCIDENT = Object.fromEntries(MASS_KINDS.map((kind) => [kind, 0]))

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

  it('count a hidden belief by its last good check, as all others', async ({ db }) => {
    const fares = await trackFares(db, [{}, {}, {}, {}])
    for (const [i, age] of [16, 16, 660, 5_000].entries()) await answered(db, fares[i] ?? 0, age)
    await sql`update fare_state set hidden = 'held' where tracked_fare_id = ${fares[2]}`.execute(db)
    // It ended, so it counts no more.
    await sql`delete from fare_schedule where tracked_fare_id = ${fares[3]}`.execute(db)
    const metrics = createMetrics()

    await readFareGauges(db, metrics)

    expect(await valuesOf(metrics.trackedFares)).toMatchObject({ bookable: 2, hidden: 1 })
    expect(await valuesOf(metrics.beliefsStale)).toMatchObject({ bookable: 0, hidden: 1 })
    const since = await valuesOf(metrics.beliefsGoodSince)
    expect(Math.round((nowSeconds() - (since['1'] ?? 0)) / 60)).toBe(11)
  })

  it('are all 0 without watches', async ({ db }) => {
    const metrics = createMetrics()

    await readFareGauges(db, metrics)

    expect(await valuesOf(metrics.beliefsGoodSince)).toEqual({ '0.5': 0, '0.95': 0, '1': 0 })
    expect(await valuesOf(metrics.incidentsOpen)).toEqual(NO_INCIDENT)
  })

  it('show an open incident', async ({ db }) => {
    await sql`insert into incident (kind) values ('mass_loss')`.execute(db)
    const metrics = createMetrics()

    await readFareGauges(db, metrics)

    expect(await valuesOf(metrics.incidentsOpen)).toEqual({ ...NO_INCIDENT, mass_loss: 1 })
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

describe('the gauges of feeds', () => {
  it('hold the last seq of each feed, and when it was written', async ({ db }) => {
    const beginSeconds = nowSeconds()
    const fareId = await trackFare(db)
    await watchFare(db, 'ana', fareId)
    await watchFare(db, 'ben', fareId)
    await record(db, fareId, minute(0), available())
    await record(db, fareId, minute(1), gone)
    await record(db, fareId, minute(2), gone)
    const metrics = createMetrics()

    await readFeedGauges(db, metrics)

    const last = await valuesOf(metrics.feedLastSeq)
    expect(last.route).toBe(0)
    expect(last.availability).toBeGreaterThan(0)
    expect(last.watch).toBe(2 * (last.availability ?? 0))
    const written = await valuesOf(metrics.feedLastRecord)
    expect(written.route).toBe(0)
    expect(written.watch).toBeGreaterThan(beginSeconds - 1)
    expect(written.watch).toBeLessThan(nowSeconds() + 1)
  })
})

const NOWHERE = 'http://127.0.0.1:9'

describe('the gauges of the whole system', () => {
  it('are exported by every process with the same values', async ({ db, databaseUrl }) => {
    await sync(db, manyRoutes(1_234))
    const workers = [1, 2].map(() => startWorker({ databaseUrl, upstreamUrl: NOWHERE }))

    for (const worker of workers) {
      await untilReady(worker)
      await until('the gauges', () => exportsSystem(worker))
      const text = await readMetrics(worker)
      expect(text).toContain('farewatch_routes_live 1234')
      expect(text).toContain('farewatch_sync_interval_seconds{list="routes"} 31622400')
      expect(text).toContain('farewatch_queue_depth{queue="verify",state="dead"} 0')
      expect(text).toMatch(/^farewatch_db_size_bytes [1-9]/m)
      expect(text).toMatch(/^farewatch_db_disk_free_bytes [1-9]/m)
      expect(text).not.toMatch(/^farewatch_redis_memory/m)
    }
  })

  it('are exported by a process without workers too, with the depth of the queues', async ({
    db,
    databaseUrl,
  }) => {
    const worker = startWorker({ databaseUrl, upstreamUrl: NOWHERE })
    await untilReady(worker)
    await killWorker(db, worker)
    const api = startInTest(['api'], {
      DATABASE_URL: databaseUrl,
      UPSTREAM_BASE_URL: NOWHERE,
      API_PORT: '0',
      ADMIN_PORT: '0',
    })
    await untilReady(api)

    await until('the gauges', () => exportsSystem(api))
    expect(await readMetrics(api)).toContain(
      'farewatch_queue_depth{queue="verify",state="delayed"}',
    )
  })
})
