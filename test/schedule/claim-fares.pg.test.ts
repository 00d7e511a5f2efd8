import { describe, expect } from 'vitest'
import { type Db, sql } from '../../src/platform/db/database.ts'
import { nextDispatchMs } from '../../src/schedule/claim.ts'
import { LEASE_SECONDS } from '../../src/schedule/due.ts'
import { it } from '../support/test-database.ts'
import {
  complete,
  dispatch,
  type NewFare,
  pass,
  type Queue,
  scheduleOf,
  trackFares,
} from './schedule-fixtures.ts'

/** Numbers for as many fares. */
const many = (count: number) => Array.from({ length: count }, (_, i) => i)

const duesOf = async (db: Db, fare: number) =>
  (await scheduleOf(db, fare)).turns.map(({ vdue }) => vdue)

describe('a dispatch', () => {
  it('a dispatch reserves no more than the budget of its horizon, and the next goes on from there', async ({
    db,
  }) => {
    const fares = await trackFares(
      db,
      many(20).map((vdue) => ({ vdue })),
    )

    expect(await dispatch(db, 2)).toEqual(fares.slice(0, 11))
    await pass(db, 2)

    const next = await dispatch(db, 2)
    expect(next.slice(0, 4)).toEqual(fares.slice(11, 15))
    expect(next.length).toBeLessThanOrEqual(5)
  })

  it('a dispatch leaves out fares inside their minimum interval', async ({ db }) => {
    const [due] = await trackFares(db, [{ vdue: 2 }, { vdue: 1, notBefore: 30 }])

    expect(await dispatch(db, 10)).toEqual([due])
  })

  it('a claim moves the virtual time of the queue whose turn it is, and the record of the check the due times in all queues', async ({
    db,
  }) => {
    const [fare = 0] = await trackFares(db, [{ vdue: 7, resellers: [1, 2] }])

    // One turn: that of the reseller with the smallest pass.
    await dispatch(db, 0.1)
    expect(await duesOf(db, fare)).toEqual([7, 7])
    await complete(db, [{ fareId: fare, askedAt: new Date(), next: 'retry' }])

    const { rows } = await sql`select v from reseller_queue order by reseller_id`.execute(db)
    expect(rows).toEqual([{ v: 7 }, { v: 0 }])
    // Its only fare has the minimum interval: one round of the queue.
    expect(await duesOf(db, fare)).toEqual([8, 1])
  })

  it('a claim updates no index', async ({ db }) => {
    await trackFares(
      db,
      many(20).map((vdue) => ({ vdue, lane: vdue % 2 === 0 ? ('first_check' as const) : null })),
    )
    const count = async () => {
      await sql`select pg_stat_force_next_flush()`.execute(db)
      const { rows } = await sql<{ updated: number; hot: number }>`
        select n_tup_upd as updated, n_tup_hot_upd as hot from pg_stat_all_tables where relname = 'fare_schedule'
      `.execute(db)
      return rows[0] ?? { updated: 0, hot: 0 }
    }
    const before = await count()

    const claimed = await dispatch(db, 10)

    const after = await count()
    expect(claimed).toHaveLength(20)
    expect(after.updated - before.updated).toBe(20)
    expect(after.hot - before.hot).toBe(20)
  })

  it('a fare whose lease has ended is due again, in the lane that it was in', async ({ db }) => {
    const fares = await trackFares(db, [{}, { lane: 'confirmation' }])
    expect(await dispatch(db, 10)).toHaveLength(2)
    await pass(db, LEASE_SECONDS - 1)
    expect(await dispatch(db, 10)).toEqual([])

    await pass(db, 2)

    expect(new Set(await dispatch(db, 10))).toEqual(new Set(fares))
    expect((await scheduleOf(db, fares[1] ?? 0)).lane).toBe('confirmation')
  })

  it('a claim is committed before its job is enqueued, and released at once if the queue is unavailable', async ({
    db,
  }) => {
    const [fare = 0] = await trackFares(db, [{}])
    let claimed: string | null = null
    const away: Queue = {
      enqueue: async () => {
        claimed = (await scheduleOf(db, fare)).claimId
        throw new Error('no queue')
      },
    }

    await expect(dispatch(db, 10, away)).rejects.toThrow('no queue')

    expect(claimed).not.toBeNull()
    expect((await scheduleOf(db, fare)).claimId).toBeNull()
    expect(await dispatch(db, 10)).toEqual([fare])
  })
})

/** The passes of the resellers: what they have paid. */
async function passesOf(db: Db): Promise<number[]> {
  const { rows } = await sql<{ pass: number }>`
    select pass from reseller_queue order by reseller_id
  `.execute(db)
  return rows.map(({ pass }) => pass)
}

describe('the lanes', () => {
  it('urgent fares come before turns: longest delays, confirmations, first checks, retries', async ({
    db,
  }) => {
    const [turn, retry, first, confirm, longest] = await trackFares(db, [
      { vdue: 0 },
      { vdue: 9, lane: 'retry', notBefore: 60 },
      { vdue: 9, lane: 'first_check', notBefore: 60 },
      { vdue: 9, lane: 'confirmation', notBefore: 60 },
      { vdue: 9, lane: 'max_delay', notBefore: 60 },
    ])

    expect(await dispatch(db, 100)).toEqual([longest, confirm, first, retry, turn])
  })

  it('the lanes have shares of the budget: 20 % for first checks, 10 % for retries, 40 % together', async ({
    db,
  }) => {
    const lanes = ['first_check', 'retry', 'confirmation'] as const
    const made = await trackFares(
      db,
      lanes.flatMap((lane) => many(60).map((vdue) => ({ vdue, lane, notBefore: 600 }))),
    )
    const laneOf = (fare: number) => lanes[Math.floor(made.indexOf(fare) / 60)]
    const count = (fares: number[], lane: string) =>
      fares.filter((fare) => laneOf(fare) === lane).length

    // Fifty slots lie within the horizon: at most twenty of them, and the one at its end, are the lanes'.
    expect(count(await dispatch(db, 10), 'confirmation')).toBe(21)
    await sql`update fare_schedule set lane = null, lane_due_at = null where lane = 'confirmation'`.execute(
      db,
    )
    await pass(db, 10)

    const next = await dispatch(db, 10)
    expect(count(next, 'first_check')).toBe(10)
    expect(count(next, 'retry')).toBe(5)
  })

  it('longest delays may take the whole budget', async ({ db }) => {
    const longest = await trackFares(
      db,
      many(60).map(() => ({ lane: 'max_delay' })),
    )
    await trackFares(db, [{ lane: 'confirmation' }])

    const claimed = await dispatch(db, 10)

    expect(claimed).toHaveLength(51)
    expect(claimed.filter((fare) => !longest.includes(fare))).toEqual([])
  })

  it('a check is paid for by those who asked for it: its passes move by how often each would check the fare alone, by its share', async ({
    db,
  }) => {
    await sql`insert into reseller (id, name, share) overriding system value values (1, 'one', 1), (2, 'two', 2)`.execute(
      db,
    )
    const paidFor = async (fare: NewFare) => {
      await sql`update reseller_queue set pass = 0`.execute(db)
      await sql`update schedule_facts set pass = 0, min_recheck_seconds = null`.execute(db)
      await trackFares(db, [{ resellers: [1, 2], ...fare }])
      await dispatch(db, 0.1)
      await pass(db, 60)
      await sql`delete from turn`.execute(db)
      await sql`delete from fare_schedule`.execute(db)
      return passesOf(db)
    }

    // Alone the second would check it twice as often: it pays two thirds.
    const parts = [1 / 3, 2 / 3 / 2].map((part) => expect.closeTo(part))
    expect(await paidFor({ lane: 'confirmation' })).toEqual(parts)
    expect(await paidFor({ lane: 'retry' })).toEqual(parts)
    expect(await paidFor({ lane: 'first_check', laneReseller: 2 })).toEqual([0, 1 / 2])
    expect(await paidFor({ lane: 'max_delay', maxDelays: [60, null] })).toEqual([1, 0])
    expect(await paidFor({ vdue: 0 })).toEqual([1, 0])
  })
})

/** Whole minutes: a test takes less than half of one. */
const minutesOf = (ms = Number.NaN) => Math.round(ms / 60_000)

describe('the time of the next dispatch', () => {
  it('the first fare that becomes due is the next', async ({ db }) => {
    await trackFares(db, [{ notBefore: 7_200 }, { notBefore: 3_600 }])

    expect(minutesOf(await nextDispatchMs(db))).toBe(60)
  })

  it('fares that are due wait for free slots, not longer', async ({ db }) => {
    await trackFares(
      db,
      Array.from({ length: 100 }, () => ({})),
    )
    expect(await nextDispatchMs(db)).toBeLessThanOrEqual(0)

    // All slots of the next five seconds.
    await dispatch(db, 1)

    expect(await nextDispatchMs(db)).toBeLessThanOrEqual(5_000)
  })
})
