import { describe, expect } from 'vitest'
import { readStatusHistory } from '../../src/health/status-history-operations.ts'
import type { ResellerId } from '../../src/platform/base/reseller-id.ts'
import { type Db, sql } from '../../src/platform/db/database.ts'
import { available, gone, record, trackFare, watchFare } from '../fares/fare-fixtures.ts'
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
})
