import { describe, expect } from 'vitest'
import { type Db, openDatabase, sql } from '../../src/platform/db/database.ts'
import { dispatchChecks, nextDispatchMs } from '../../src/schedule/dispatch-checks.ts'
import { CLAIM_FARES, LEASE_SECONDS } from '../../src/schedule/schedule-rules.ts'
import { silentLog } from '../support/silent-log.ts'
import { it } from '../support/test-database.ts'
import {
  complete,
  dispatch,
  idleQueue,
  pass,
  type Queue,
  scheduleOf,
  trackFares,
} from './schedule-fixtures.ts'

/** Numbers for as many fares. */
const many = (count: number) => Array.from({ length: count }, (_, i) => i)

describe('a dispatch', () => {
  it('a dispatch gives slots in the order of the virtual due times', async ({ db }) => {
    const [late, early, middle] = await trackFares(db, [{ vdue: 3 }, { vdue: 1 }, { vdue: 2 }])

    expect(await dispatch(db, 10)).toEqual([early, middle, late])
  })

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

  it('a claim moves the clock of the queue to the due time, and the record of the check moves the due time', async ({
    db,
  }) => {
    const [fare = 0] = await trackFares(db, [{ vdue: 7 }])

    await dispatch(db, 10)
    expect((await scheduleOf(db, fare)).vdue).toBe(7)
    await complete(db, [{ fareId: fare, askedAt: new Date(), next: 'retry' }])

    const { rows } = await sql<{ v: number }>`select v from fare_schedule_clock`.execute(db)
    expect(rows).toEqual([{ v: 7 }])
    expect((await scheduleOf(db, fare)).vdue).toBeGreaterThanOrEqual(8)
  })

  it('a claim updates no index', async ({ db }) => {
    await trackFares(
      db,
      many(20).map((vdue) => ({ vdue, lane: vdue % 2 === 0 ? 'new_watch' : null })),
    )
    await giveParts(db, 10)
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

  it('two dispatches at one moment claim each fare once', async ({ databaseUrl, db }) => {
    await trackFares(
      db,
      many(400).map((vdue) => ({ vdue, lane: vdue % 4 === 0 ? 'new_watch' : null })),
    )
    const open = () =>
      openDatabase({ url: databaseUrl, applicationName: 'test', log: silentLog, maxConnections: 1 })
    const pools = [open(), open(), open(), open()]

    const given = await Promise.all(pools.map((pool) => dispatch(pool.db, 100)))
    await Promise.all(pools.map((pool) => pool.close()))

    const fares = given.flat()
    expect(fares.length).toBeGreaterThan(0)
    expect(new Set(fares).size).toBe(fares.length)
  })

  it('a dispatch enqueues a job for about each second, none with too many fares', async ({
    db,
  }) => {
    const jobs: (string | undefined)[] = []
    const queue: Queue = {
      enqueue: async (_queue, { id }) => {
        jobs.push(id)
      },
    }
    await trackFares(
      db,
      many(3_000).map((vdue) => ({ vdue })),
    )

    await dispatch(db, 20, queue)
    expect(jobs).toHaveLength(5)
    await pass(db, 5)
    const claims = await dispatchChecks({ db, queue: idleQueue, requestsPerSecond: 1_000 })

    const sizes = Map.groupBy(claims, (claim) => claim.claimId)
      .values()
      .map((claim) => claim.length)
    expect(Math.max(...sizes)).toBeLessThanOrEqual(CLAIM_FARES)
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

/** Gives resellers a part of the budget, as the last solve would have. */
async function giveParts(db: Db, part: number): Promise<void> {
  await sql`update fare_schedule_reseller set part = ${part}`.execute(db)
}

describe('the lanes', () => {
  it('fares in lanes come before the schedule, confirmations first', async ({ db }) => {
    const [claim, first, retry, confirm] = await trackFares(db, [
      { vdue: 0 },
      { vdue: 9, lane: 'new_watch', notBefore: 0 },
      { vdue: 9, lane: 'retry', notBefore: 60 },
      { vdue: 9, lane: 'confirmation', notBefore: 60 },
    ])
    await giveParts(db, 10)

    expect(await dispatch(db, 100)).toEqual([confirm, first, retry, claim])
  })

  it('the lanes have shares of the budget: 20 % for new watches, 10 % for retries, 40 % together', async ({
    db,
  }) => {
    const lanes = ['new_watch', 'retry', 'confirmation'] as const
    const made = await trackFares(
      db,
      lanes.flatMap((lane) => many(60).map((vdue) => ({ vdue, lane, notBefore: 600 }))),
    )
    await giveParts(db, 10)
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
    expect(count(next, 'new_watch')).toBe(10)
    expect(count(next, 'retry')).toBe(5)
  })

  it('a check in a lane leaves the due time of a fare, and a check of the schedule moves it', async ({
    db,
  }) => {
    const fares = await trackFares(db, [
      { vdue: 5, lane: 'confirmation' },
      { vdue: 5, lane: 'new_watch' },
      { vdue: 5 },
    ])
    await sql`update fare_schedule_clock set speed = 0.01`.execute(db)
    await giveParts(db, 10)

    await dispatch(db, 10)
    await complete(
      db,
      fares.map((fareId) => ({ fareId, askedAt: new Date(), next: 'normal' as const })),
    )

    const due = await Promise.all(fares.map(async (fare) => (await scheduleOf(db, fare)).vdue))
    // The shortest interval of 60 s ends 0.6 after the clock, which the schedule moved to 5.
    expect(due).toEqual([5.6, 5.6, 6])
  })

  it('first checks are those of all resellers in turn, by their shares', async ({ db }) => {
    await sql`insert into reseller (id, name, share) overriding system value values (1, 'large', 2), (2, 'small', 1)`.execute(
      db,
    )
    const made = await trackFares(db, [
      ...many(60).map(() => ({ lane: 'new_watch' as const, resellers: [1], notBefore: 600 })),
      ...many(60).map(() => ({ lane: 'new_watch' as const, resellers: [2], notBefore: 600 })),
    ])
    await giveParts(db, 10)

    const first = await dispatch(db, 9)

    expect(first).toHaveLength(9)
    expect(first.filter((fare) => fare <= (made[59] ?? 0))).toHaveLength(6)
  })

  // Half of these parts is 0.02 and 0.0005 checks a second: 6 and 0.15 in the five minutes over which lanes are charged.
  it.for([
    { part: 0.04, checks: 6 },
    { part: 0.001, checks: 1 },
  ])(
    'a reseller gets at most half of its part in lanes while other fares are due, and one check of a smaller one: %o',
    async ({ part, checks }, { db }) => {
      const imported = many(100).map(() => ({
        lane: 'new_watch' as const,
        resellers: [1],
        notBefore: 600,
      }))
      const made = await trackFares(db, imported)
      await giveParts(db, part)
      const waiting = await trackFares(
        db,
        many(100).map((vdue) => ({ vdue, resellers: [2] })),
      )

      const others = await dispatch(db, 10)
      await pass(db, 10)
      await sql`update fare_schedule set not_before = now() + interval '1 hour' where tracked_fare_id = any(${waiting}::bigint[])`.execute(
        db,
      )
      const alone = await dispatch(db, 10)

      const count = (fares: readonly number[]) => fares.filter((fare) => made.includes(fare)).length
      expect(count(others)).toBe(checks)
      expect(count(alone)).toBe(10)
    },
  )

  it('a fare that its reseller may not have checked in a lane keeps its turn', async ({ db }) => {
    const imported = await trackFares(
      db,
      many(3).map(() => ({ lane: 'new_watch' as const, resellers: [1], vdue: 0 })),
    )
    await trackFares(
      db,
      many(100).map(() => ({ resellers: [2], vdue: 1 })),
    )

    const claimed = await dispatch(db, 10)

    expect(claimed.slice(0, 3)).toEqual(imported)
  })

  it('a fare that has its turn while it waits in a lane is checked again after its whole interval', async ({
    db,
  }) => {
    const [fare = 0] = await trackFares(db, [
      { lane: 'new_watch', resellers: [1], vdue: 0, rate: 0.001 },
      ...many(100).map(() => ({ resellers: [2], vdue: 1 })),
    ])

    expect(await dispatch(db, 10)).toContain(fare)
    await complete(db, [{ fareId: fare, askedAt: new Date(), next: 'normal' }])

    const { lane, vdue } = await scheduleOf(db, fare)
    expect(lane).toBeNull()
    expect(vdue).toBeGreaterThanOrEqual(1_000)
  })

  it('a check in a lane is charged to the reseller that caused it, and otherwise to all by what they spend', async ({
    db,
  }) => {
    await trackFares(db, [
      { lane: 'new_watch', resellers: [1, 2], laneReseller: 2 },
      { lane: 'confirmation', resellers: [1, 2] },
    ])
    await sql`update fare_schedule set rates = '{0.3, 0.1}'`.execute(db)
    await giveParts(db, 10)

    await dispatch(db, 10)

    const { rows } = await sql<{ checks: number }>`
      select round((in_lanes * 300)::numeric, 2)::float8 as checks
        from fare_schedule_reseller where reseller_id in (1, 2) order by reseller_id
    `.execute(db)
    expect(rows.map(({ checks }) => checks)).toEqual([0.75, 1.25])
  })
})

/** Whole minutes: a test takes less than half of one. */
const minutesOf = (ms = Number.NaN) => Math.round(ms / 60_000)

describe('the time of the next dispatch', () => {
  it('nothing is due where no fare is on the schedule', async ({ db }) => {
    expect(await nextDispatchMs(db)).toBeUndefined()
  })

  it('the first fare that becomes due is the next', async ({ db }) => {
    await trackFares(db, [{ notBefore: 7_200 }, { notBefore: 3_600 }])

    expect(minutesOf(await nextDispatchMs(db))).toBe(60)
  })

  it('a fare in a lane is due before its minimum interval ends', async ({ db }) => {
    await trackFares(db, [{ notBefore: 3_600 }, { notBefore: 3_600, lane: 'confirmation' }])

    expect(await nextDispatchMs(db)).toBeLessThanOrEqual(0)
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

  it('claimed fares are not due', async ({ db }) => {
    await trackFares(db, [{}, { notBefore: 3_600 }])

    await dispatch(db, 100)

    expect(minutesOf(await nextDispatchMs(db))).toBe(60)
  })
})
