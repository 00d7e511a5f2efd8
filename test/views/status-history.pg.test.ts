import { describe, expect } from 'vitest'
import { readStatusHistory } from '../../src/health/status-history-operations.ts'
import type { ResellerId } from '../../src/platform/base/reseller-id.ts'
import { type Db, sql } from '../../src/platform/db/database.ts'
import { createApiKey } from '../../src/resellers/api-keys.ts'
import { recordBeliefAges } from '../../src/views/belief-ages.ts'
import { available, gone, record, trackFare, watchFare } from '../fares/fare-fixtures.ts'
import { NO_GUARD, routes, sync } from '../routes/sync-fixtures.ts'
import { ask, bearer, newKeyText, startApi } from '../support/api-server.ts'
import { it } from '../support/test-database.ts'

/** A fare that was bookable and is sold out: the second check was this long after the first. */
async function soldOut(db: Db, flightId: string, seconds: number): Promise<number> {
  const fareId = await trackFare(db, { flightId })
  const first = Date.now() - 600_000
  const check = (afterSeconds: number, answer: ReturnType<typeof available>) =>
    record(db, fareId, new Date(first + afterSeconds * 1000), answer)
  await check(0, available('100.00'))
  await check(seconds, gone)
  await check(seconds + 30, gone)
  return fareId
}

/** All records were written at one instant, this many minutes before the present one. */
async function recordedBefore(db: Db, minutes: number): Promise<void> {
  const at = sql`date_trunc('minute', clock_timestamp()) - make_interval(mins => ${minutes}::integer, secs => -1)`
  await sql`update availability_change set recorded_at = ${at}, detected_at = ${at} - interval '10 seconds',
              last_good_check_at = ${at} - interval '30 seconds' where kind = 'became_unavailable'`.execute(
    db,
  )
  await sql`update watch_change set recorded_at = ${at}`.execute(db)
}

describe('the status of the last hours', () => {
  it('has the changes and their delay in the step in which they were recorded', async ({ db }) => {
    await soldOut(db, 'F1', 60)
    await soldOut(db, 'F2', 60)
    await recordedBefore(db, 3)

    const { fares, delaySeconds, stepMinutes } = await readStatusHistory(db, { hours: '1' })

    const lost = fares.find(({ kind }) => kind === 'became_unavailable')?.counts ?? []
    expect([stepMinutes, lost.length, lost.indexOf(2)]).toEqual([1, 60, 57])
    expect(delaySeconds.all).toEqual({ changes: 2, waiting: 0, p50: 20, p95: 20 })
    // Half of the time between the two checks, and the time until the record.
    expect([delaySeconds.p50[57], delaySeconds.p95[57], delaySeconds.p50[56]]).toEqual([
      20,
      20,
      null,
    ])
  })

  it('of a reseller has the changes of its feed alone, from the first in the span', async ({
    db,
  }) => {
    const mine = await trackFare(db, { flightId: 'mine' })
    const alpha = await watchFare(db, 'alpha', mine)
    const beta = await watchFare(db, 'beta', await trackFare(db, { flightId: 'theirs' }))
    for (const seconds of [0, 60, 90, 120, 150, 180]) {
      const answer = seconds === 60 || seconds === 90 ? gone : available('100.00')
      await record(db, mine, new Date(Date.now() - 600_000 + seconds * 1000), answer)
    }
    // The first record is older than the span: the search must pass it.
    await recordedBefore(db, 3)
    await sql`update watch_change set recorded_at = recorded_at - interval '2 hours' where seq = 1`.execute(
      db,
    )

    const lostOf = async (id: number) => {
      const { fares, checks } = await readStatusHistory(db, {
        hours: '1',
        resellerId: id as ResellerId,
      })
      expect(checks).toBeNull()
      return fares.flatMap(({ kind, counts }) => (kind === 'became_unavailable' ? counts : []))
    }
    expect((await lostOf(alpha)).reduce((sum, n) => sum + n, 0)).toBe(1)
    expect((await lostOf(beta)).reduce((sum, n) => sum + n, 0)).toBe(0)
  })

  it('has the changes that wait in its last step, for a reseller those of its fares', async ({
    db,
  }) => {
    const fareId = await trackFare(db, { flightId: 'mine' })
    const alpha = await watchFare(db, 'alpha', fareId)
    const beta = await watchFare(db, 'beta', await trackFare(db, { flightId: 'theirs' }))
    await record(db, fareId, new Date(Date.now() - 600_000), available('100.00'))
    await record(db, fareId, new Date(Date.now() - 300_000), gone)

    const delayOf = async (resellerId?: number) => {
      const scope = resellerId === undefined ? {} : { resellerId: resellerId as ResellerId }
      return (await readStatusHistory(db, { hours: '1', ...scope })).delaySeconds
    }

    const { all, p95 } = await delayOf()
    expect(all).toMatchObject({ changes: 1, waiting: 1 })
    expect(Math.round((p95.at(-1) ?? 0) / 30)).toBe(15)
    expect((await delayOf(alpha)).all).toMatchObject({ changes: 1, waiting: 1 })
    expect((await delayOf(beta)).all).toBeNull()
  })

  it('has the age of each list, the routes that changed, and the checks', async ({ db }) => {
    await sync(db, routes('PMI-MAD'), { guard: NO_GUARD })
    await sync(db, routes('PMI-MAD', 'PMI-BCN'), { guard: NO_GUARD })
    await sql`
      update sync_run set fetched_at = m.at, arrived_at = m.at, started_at = m.at, finished_at = m.at
        from (select date_trunc('minute', clock_timestamp()) - interval '10 minutes' as at) m
    `.execute(db)
    await sql`
      insert into check_minute (minute, checks, unknown)
      values (date_trunc('minute', clock_timestamp()) - interval '1 minute', 150, 30)
    `.execute(db)

    const base = await startApi(db)
    const { body } = await ask(`${base}/api/v1/status/history?hours=1`, {
      headers: bearer(await newKeyText(db)),
    })

    const {
      lists,
      routes: changed,
      checks,
    } = body as unknown as Awaited<ReturnType<typeof readStatusHistory>>
    expect(lists[0]?.ageSeconds.slice(48)).toEqual([
      null,
      0,
      60,
      120,
      180,
      240,
      300,
      360,
      420,
      480,
      540,
      600,
    ])
    expect(changed.added[50]).toBe(1)
    expect([checks?.made.at(-1), checks?.unknown.at(-1)]).toEqual([150, 30])
  })

  it('has the ages of the fares and the share of stale ones, once a minute, for two days', async ({
    db,
  }) => {
    await recordBeliefAges(db)
    for (const minutes of [1, 2, 90]) {
      const fareId = await trackFare(db, { flightId: `F${minutes}` })
      await record(db, fareId, new Date(Date.now() - minutes * 60_000), available('100.00'))
    }
    await sql`
      insert into belief_minute (minute, fares, stale, p50_seconds, p90_seconds)
      select date_trunc('minute', clock_timestamp()) - make_interval(mins => m), 4, 1, 10, 20 from unnest(array[4, 2879, 2881]) m
    `.execute(db)

    await recordBeliefAges(db)
    await recordBeliefAges(db)
    await sql`update belief_minute set minute = minute - interval '1 minute'`.execute(db)
    const { beliefs } = await readStatusHistory(db, { hours: '1' })

    expect(beliefs?.staleShare.slice(55)).toEqual([0.25, null, null, null, 1 / 3])
    expect(beliefs?.p50.at(-1)).toBeGreaterThan(119)
    expect(beliefs?.p90.at(-1)).toBeGreaterThan(5_399)
    const { rows } = await sql`select from belief_minute`.execute(db)
    expect(rows).toHaveLength(3)
  })

  it('begins with the shortest span that holds all that was not made up', async ({ db }) => {
    const spanOf = async () => (await readStatusHistory(db, {})).stepMinutes
    expect(await spanOf()).toBe(1)
    await sync(db, routes('PMI-MAD'))
    await sql`update sync_run set started_at = started_at - interval '3 hours'`.execute(db)
    expect(await spanOf()).toBe(5)
    await sql`update sync_run set started_at = started_at - interval '3 days'`.execute(db)
    expect(await spanOf()).toBe(15)
    await sql`insert into demo (history_since, history_until) values (now(), now())`.execute(db)
    expect(await spanOf()).toBe(1)
  })

  it('is read by a reseller with a key that may read', async ({ db }) => {
    const resellerId = await watchFare(db, 'alpha', await trackFare(db, { flightId: 'F1' }))
    const { text } = await createApiKey(db, { resellerId })
    const base = await startApi(db)
    const read = (hours: string) =>
      ask(`${base}/api/v1/status/history?hours=${hours}`, { headers: bearer(text) })

    expect(await read('6')).toMatchObject({
      status: 200,
      body: { stepMinutes: 5, beliefs: null, checks: null },
    })
    expect((await read('7')).status).toBe(400)
  })
})
