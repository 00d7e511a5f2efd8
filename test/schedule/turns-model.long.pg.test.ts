import { describe, expect } from 'vitest'
import { type Db, sql } from '../../src/platform/db/database.ts'
import { inTransaction } from '../../src/platform/db/transaction.ts'
import { type CheckRating, correctSetBack } from '../../src/schedule/due.ts'
import { changeQueues, expedite, follow, unfollow } from '../../src/schedule/queues.ts'
import { it } from '../support/test-database.ts'
import {
  claimNext,
  dispatch,
  type NewFare,
  pass,
  runSchedule,
  trackFares,
  UNCHANGED,
} from './schedule-fixtures.ts'

/** Fares of one kind, with their turns anywhere in the first interval. */
function many(count: number, fare: NewFare): NewFare[] {
  return Array.from({ length: count }, (_, i) => ({ vdue: i / count, ...fare }))
}

async function setShares(db: Db, ...shares: readonly number[]): Promise<void> {
  for (const [i, share] of shares.entries()) {
    await sql`
      insert into reseller (id, name, share) overriding system value values (${i + 1}, ${`reseller-${i + 1}`}, ${share})
    `.execute(db)
  }
}

type Run = (fare: number) => readonly number[]

/** The mean and the longest interval of these fares. */
function intervalsOf(run: Run, fares: readonly number[]) {
  const gaps = fares.flatMap((fare) => {
    const times = run(fare)
    return times.slice(1).map((at, i) => at - (times[i] ?? 0))
  })
  return { mean: gaps.reduce((a, b) => a + b, 0) / gaps.length, longest: Math.max(...gaps) }
}

/** The fares of each kind, by the order of their making. */
async function trackKinds(db: Db, kinds: readonly (readonly NewFare[])[]): Promise<number[][]> {
  const made = await trackFares(db, kinds.flat())
  return kinds.map((kind) => made.splice(0, kind.length))
}

describe('shares', () => {
  it('resellers with shares of 1 to 100 have the intervals that they have alone, also one with a single fare', async ({
    db,
  }) => {
    await setShares(db, 1, 100, 10, 1)
    const kinds = await trackKinds(
      db,
      [5, 100, 20, 1].map((count, i) => many(count, { resellers: [i + 1] })),
    )

    const run = await runSchedule(db, 560, { requestsPerSecond: 5, step: 8 })

    // Of five checks a second they have parts of 5, 500, 50 and 5 in 112.
    for (const [i, alone] of [112, 22.4, 44.8, 22.4].entries()) {
      const { mean, longest } = intervalsOf(run, kinds[i] ?? [])
      expect(mean).toBeCloseTo(alone, 0)
      expect(longest).toBeLessThan(alone + 8)
    }
  })

  it('a reseller that had nothing to check comes back at most two turns before the others', async ({
    db,
  }) => {
    const [idle = []] = await trackKinds(db, [
      many(50, { resellers: [1], notBefore: 300 }),
      many(50, { resellers: [2] }),
    ])
    await runSchedule(db, 300)
    const counts: number[] = []

    for (let i = 0; i < 10; i += 1) {
      const claimed = await inTransaction(db, (tx) => claimNext(tx, 10))
      counts.push(claimed.filter((fare) => idle.includes(fare)).length)
    }

    expect(counts[0]).toBeLessThanOrEqual(7)
    const all = counts.reduce((a, b) => a + b, 0)
    expect(all).toBeGreaterThanOrEqual(50)
    expect(all).toBeLessThanOrEqual(52)
  })
})

describe('fares that resellers share', () => {
  it('a fare of 500 resellers is checked once for all, and costs none of them more than alone', async ({
    db,
  }) => {
    const all = Array.from({ length: 500 }, (_, i) => i + 1)
    const own = all.flatMap((reseller) => many(1, { resellers: [reseller] }))
    const [shared = [], others = []] = await trackKinds(db, [
      // A little less than three steps: the time within a step is the machine's.
      [{ resellers: all, minIntervalSeconds: 28 }],
      own,
    ])

    await runSchedule(db, 100, { requestsPerSecond: 10 })

    const run = await runSchedule(db, 300, { requestsPerSecond: 10 })

    expect(intervalsOf(run, shared)).toEqual({ mean: 30, longest: 30 })
    // Alone each would check its two fares every 100 s.
    expect(intervalsOf(run, others).longest).toBeLessThanOrEqual(110)
    expect(intervalsOf(run, others).mean).toBeCloseTo(500 / (10 - 1 / 30), 0)
  })

  it('the reseller that needs a shared fare more often pays for it alone', async ({ db }) => {
    const [shared = [], own = []] = await trackKinds(db, [
      many(20, { resellers: [1, 2] }),
      many(40, { resellers: [2] }),
    ])

    const run = await runSchedule(db, 400, { requestsPerSecond: 2, step: 5 })

    expect(intervalsOf(run, shared).mean).toBeCloseTo(20, 0)
    // Alone it would check its 60 fares every 60 s.
    expect(intervalsOf(run, own).mean).toBeCloseTo(40, 0)
  })

  it('a reseller pays for a shared fare no more often than its minimum interval allows', async ({
    db,
  }) => {
    const [shared = [], slow = [], fast = []] = await trackKinds(db, [
      many(10, { resellers: [1, 2], minIntervals: [null, 100] }),
      many(50, { resellers: [1] }),
      many(5, { resellers: [2] }),
    ])

    const run = await runSchedule(db, 1_000, { step: 5 })

    // Each has a check every two seconds: the first for its 60 fares, the second for a tenth of a check a second and five fares.
    expect(intervalsOf(run, shared).longest).toBeLessThanOrEqual(125)
    expect(intervalsOf(run, slow).longest).toBeLessThanOrEqual(125)
    expect(intervalsOf(run, fast).mean).toBeLessThan(13)
  })
})

describe('longest delays', () => {
  it('those of two resellers that need seven tenths of both parts are kept, and the others have the rest', async ({
    db,
  }) => {
    const [asked = [], first = [], second = []] = await trackKinds(db, [
      [1, 2].flatMap((reseller) =>
        many(21, { resellers: [reseller], maxDelaySeconds: 60, lane: 'max_delay' }),
      ),
      many(10, { resellers: [1] }),
      many(10, { resellers: [2] }),
    ])
    await runSchedule(db, 100, { step: 2 })

    const run = await runSchedule(db, 300, { step: 2 })

    expect(intervalsOf(run, asked).longest).toBeLessThanOrEqual(62)
    for (const others of [first, second]) {
      // Where they begin is chance, which moves the mean of so few checks by a few percent.
      expect(intervalsOf(run, others).mean).toBeLessThan(1.1 * (10 / 0.15))
    }
  })

  it('the reseller that asks for it pays, and no other that watches the fare', async ({ db }) => {
    const [asked = [], own = [], others = []] = await trackKinds(db, [
      many(10, { resellers: [1, 2], maxDelays: [40, null], lane: 'max_delay' }),
      many(10, { resellers: [1] }),
      many(20, { resellers: [2] }),
    ])
    await runSchedule(db, 100, { step: 5 })

    const run = await runSchedule(db, 500, { step: 5 })

    expect(intervalsOf(run, asked).longest).toBeLessThanOrEqual(45)
    // Of its half check a second the first spends a quarter on the delays, and the second nothing.
    // A mean of so few checks moves by chance; a reseller that paid half of the delays would wait a third longer.
    expect(intervalsOf(run, own).mean).toBeLessThan(1.1 * 40)
    expect(intervalsOf(run, others).mean).toBeLessThan(1.1 * 40)
  })
})

describe('what happens to others', () => {
  it('a list of another that is emptied and filled again delays no fare', async ({ db }) => {
    const [own = [], theirs = []] = await trackKinds(db, [
      many(20, { resellers: [1] }),
      many(200, { resellers: [2] }),
    ])
    const watches = sql`
      select fare, 2::bigint as reseller_id, 1::float8 as weight, null::int as min_seconds, null::int as max_seconds
        from unnest(${theirs}::bigint[]) fare
    `
    const changes = [
      () => inTransaction(db, async (tx) => changeQueues(tx, await unfollow(tx, theirs))),
      () => inTransaction(db, async (tx) => changeQueues(tx, await follow(tx, theirs, watches))),
    ]
    const times = new Map(own.map((fare) => [fare, [0]]))
    let checked = 0
    for (let round = 0; round < 6; round += 1) {
      await changes[round % 2]?.()
      const run = await runSchedule(db, 60, { requestsPerSecond: 2, step: 5 })
      for (const fare of own) times.get(fare)?.push(...run(fare).map((at) => 60 * round + at))
      checked = theirs.filter((fare) => run(fare).length > 0).length
    }

    const { mean, longest } = intervalsOf((fare) => times.get(fare) ?? [], own)

    // Alone 20 s; half of the time it has the whole budget.
    expect(longest).toBeLessThanOrEqual(25)
    expect(mean).toBeLessThan(15)
    expect(checked).toBeGreaterThan(55)
  })

  it('one that comes makes fares with a long minimum interval wait for no more than a round of theirs', async ({
    db,
  }) => {
    await setShares(db, 1, 9)
    const [slow = []] = await trackKinds(db, [
      many(2, { resellers: [1], minIntervalSeconds: 98 }),
      many(18, { resellers: [1] }),
    ])
    await runSchedule(db, 200)
    await trackFares(db, many(200, { resellers: [2] }))

    const run = await runSchedule(db, 400)

    // Its twenty fares have a tenth of a check a second now.
    for (const fare of slow) expect(run(fare)[0]).toBeLessThanOrEqual(220)
  })

  it('claims go on while watches change, and a change reads no turn twice', async ({ db }) => {
    await setShares(db, 1, 1)
    const fares = await trackFares(db, many(1_000, { resellers: [1] }))
    await sql`
      insert into fare_state (tracked_fare_id, state, last_check_at)
      select id, '{}', clock_timestamp() from tracked_fare
    `.execute(db)
    await sql`analyze`.execute(db)
    const watches = sql`
      select id as fare, 2::bigint as reseller_id, 1::float8 as weight, null::int as min_seconds, null::int as max_seconds
        from tracked_fare
    `

    await inTransaction(db, async (tx) => {
      const changes = await follow(tx, fares.slice(1), watches)
      const { rows } = await sql<{ read: number }>`
        select sum(seq_tup_read + idx_tup_fetch)::float8 as read from pg_stat_xact_user_tables where relname = 'turn'
      `.execute(tx)
      expect(rows[0]?.read).toBeLessThan(20_000)
      expect(await dispatch(db, 1)).toEqual(fares.slice(0, 1))
      await changeQueues(tx, changes)
    })
  })

  it('after an outage of ten minutes each fare is checked within its interval, in the old order', async ({
    db,
  }) => {
    const [often = [], seldom = []] = await trackKinds(db, [
      many(10, { resellers: [1], score: 3 }),
      many(30, { resellers: [2] }),
    ])
    await runSchedule(db, 200, { step: 5 })
    await pass(db, 600)

    const run = await runSchedule(db, 300, { step: 5 })

    for (const [fares, interval] of [
      [often, 20],
      [seldom, 60],
    ] as const) {
      expect(Math.max(...fares.map((fare) => run(fare)[0] ?? Infinity))).toBeLessThanOrEqual(
        interval + 5,
      )
      expect(intervalsOf(run, fares).longest).toBeLessThanOrEqual(interval + 5)
    }
  })

  it('after the clock was set back the turns go on as before', async ({ db }) => {
    const [asked = [], others = []] = await trackKinds(db, [
      many(5, { resellers: [1], maxDelaySeconds: 30, lane: 'max_delay' }),
      many(80, { resellers: [1] }),
    ])
    await runSchedule(db, 100, { step: 5 })
    await pass(db, -600)
    await sql`update schedule_facts set claimed_at = claimed_at + interval '600 seconds'`.execute(
      db,
    )

    expect(await correctSetBack(db, 1)).toBeGreaterThan(590)
    const run = await runSchedule(db, 200, { step: 5 })

    for (const fare of asked) expect(run(fare)[0]).toBeLessThanOrEqual(30)
    expect(intervalsOf(run, asked).longest).toBeLessThanOrEqual(35)
    // Its turns come every 80 / (1 - 5 / 30) s.
    expect(intervalsOf(run, others).longest).toBeLessThanOrEqual(105)
  })

  it('an import of 10,000 fares delays no fare of another, and no confirmation', async ({ db }) => {
    const [own = []] = await trackKinds(db, [
      many(51, { resellers: [1] }),
      many(10_000, { resellers: [2], lane: 'first_check' }),
    ])
    const lost = own.pop()
    await runSchedule(db, 10, { requestsPerSecond: 10, step: 5 })

    const run = await runSchedule(db, 50, { requestsPerSecond: 10, step: 5 })
    await inTransaction(db, (tx) => expedite(tx, [lost ?? 0]))
    const [next] = await dispatch(db, 10)

    expect(intervalsOf(run, own).mean).toBeLessThan(10.3)
    expect(intervalsOf(run, own).longest).toBeLessThanOrEqual(15)
    expect(next).toBe(lost)
  })

  it('a route of 500 fares that change all the time takes at most two fifths of the turns from the others', async ({
    db,
  }) => {
    const [moving = [], others = []] = await trackKinds(db, [
      many(500, { resellers: [1] }),
      many(500, { resellers: [1] }),
    ])
    // They were last checked an hour ago.
    await sql`update fare_schedule set rated_at = now() - interval '1 hour', rated_state = 'available'`.execute(
      db,
    )
    await sql`update fare_schedule set route = 'PMI-MAD' where tracked_fare_id = any(${moving}::bigint[])`.execute(
      db,
    )
    const isMoving = new Set(moving)
    const rate = (fare: number): CheckRating => {
      const changed = isMoving.has(fare)
      return { ...UNCHANGED, changed, value: 1, route: changed ? 'PMI-MAD' : null }
    }

    const run = await runSchedule(db, 400, { step: 10, rate })

    const checked = (fares: readonly number[]) =>
      fares.filter((fare) => run(fare).length > 0).length
    // Of 400 turns 160 come forward; the others are those of both halves.
    expect(checked(others)).toBeGreaterThanOrEqual(120)
    expect(checked(moving)).toBeGreaterThan(220)
  })
})
