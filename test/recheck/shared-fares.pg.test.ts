import { describe, expect } from 'vitest'
import { type Db, sql } from '../../src/db/database.ts'
import { withSessionLock } from '../../src/db/session-lock.ts'
import { inTransaction } from '../../src/db/transaction.ts'
import { moveSharedFares } from '../../src/recheck/move-shared-fares.ts'
import { countQueues } from '../../src/recheck/payers.ts'
import { syncTrackedFares } from '../../src/watch/sync-tracked-fares.ts'
import { it } from '../support/test-database.ts'
import { cells, importRows, newReseller } from '../watch/watch-fixtures.ts'
import {
  dispatch,
  type NewFare,
  pass,
  runSchedule,
  scheduleOf,
  trackFares,
} from './recheck-fixtures.ts'

const RULES = { requestsPerSecond: 2, minRecheckSeconds: 10 }
/** So few requests that the minimum interval of a minute is shorter than every other. */
const SLOW = 0.1
const BOTH = { resellers: [1, 2] }

function times<T>(count: number, of: T): T[] {
  return Array.from({ length: count }, () => of)
}

/** The mean interval in seconds of fares that were checked from that time on. */
function meanInterval(checks: readonly (readonly number[])[], from: number): number {
  const late = checks.map((times) => times.filter((at) => at >= from))
  const seconds = late.reduce((sum, times) => sum + ((times.at(-1) ?? 0) - (times[0] ?? 0)), 0)
  return seconds / late.reduce((sum, times) => sum + times.length - 1, 0)
}

/** Runs one check a second, and returns the mean interval of each group. */
async function intervalsOf(db: Db, groups: readonly NewFare[][]): Promise<number[]> {
  const ids = await trackFares(db, groups.flat())
  const checksOf = await runSchedule(db, 900)
  const ends = groups.map((_, i) => groups.slice(0, i + 1).flat().length)
  return groups.map((group, i) => {
    const end = ends[i] ?? 0
    return meanInterval(ids.slice(end - group.length, end).map(checksOf), 200)
  })
}

async function count(db: Db): Promise<void> {
  await inTransaction(db, (tx) => countQueues(tx, RULES))
}

async function payersOf(db: Db, fares: readonly number[]): Promise<number[]> {
  return Promise.all(fares.map(async (fare) => (await scheduleOf(db, fare)).payer))
}

async function moveFares(db: Db): Promise<number> {
  return inTransaction(db, (tx) => moveSharedFares(tx, RULES))
}

describe('a reseller whose fares another watches too', () => {
  it('has its fares checked as often as alone, and so has the other', async ({ db }) => {
    const [shared, own] = await intervalsOf(db, [
      times(20, { ...BOTH, payer: 2 }),
      times(60, { resellers: [2] }),
    ])

    // Alone, with half of one check a second, the first has a check of each every 40 s.
    expect(shared).toBeLessThan(48)
    expect(shared).toBeGreaterThan(32)
    expect(own).toBeLessThan(144)
  })

  it('has half of the work where both watch the same', async ({ db }) => {
    const [shared, first, second] = await intervalsOf(db, [
      times(40, BOTH),
      times(10, { resellers: [1] }),
      times(10, { resellers: [2] }),
    ])

    // 30 fares in each queue. Alone, the intervals would be 100 s.
    for (const interval of [shared, first, second]) {
      expect(interval).toBeGreaterThan(48)
      expect(interval).toBeLessThan(72)
    }
  })
})

describe('a shared fare', () => {
  it('leaves a queue that becomes longer, within a minute', async ({ db }) => {
    const shared = { ...BOTH, payer: 2 }
    const own = [...times(15, { resellers: [1] }), ...times(10, { resellers: [2] })]
    const fares = await trackFares(db, [...times(20, shared), ...own])
    const payers = () => payersOf(db, fares.slice(0, 20))
    // Claims are held back, so that fares only move.
    await sql`update upstream_budget set next_slot_at = clock_timestamp() + interval '1 hour'`.execute(
      db,
    )
    await dispatch(db, SLOW)
    expect(new Set(await payers())).toEqual(new Set([1, 2]))
    await pass(db, 30)
    await sql`update fare_schedule set ticket = 900 where tracked_fare_id = any(${fares.slice(35)}::bigint[])`.execute(
      db,
    )

    await dispatch(db, SLOW)
    expect(new Set(await payers())).toEqual(new Set([1, 2]))
    await pass(db, 31)
    await sql`update upstream_budget set next_slot_at = clock_timestamp() + interval '1 hour'`.execute(
      db,
    )
    await dispatch(db, SLOW)

    expect(await payers()).toEqual(times(20, 1))
  })

  it('keeps the part of its interval that is left, in tickets of the new queue', async ({ db }) => {
    const [fare = 0, busy = 0] = await trackFares(db, [
      ...times(2, { resellers: [1, 2], weights: [4, 1], vdue: 10 }),
      ...times(300, { resellers: [1] }),
    ])
    await count(db)
    await sql`update recheck_payer set v = case reseller_id when 1 then 8 else 100 end`.execute(db)
    await sql`update fare_schedule set ticket = 0.25, surprise = 9, changes_per_day = 4 where tracked_fare_id = ${fare}`.execute(
      db,
    )
    await sql`update fare_schedule set leased_until = now() + interval '1 minute' where tracked_fare_id = ${busy}`.execute(
      db,
    )

    expect(await moveFares(db)).toBe(1)

    const { rows } = await sql<{ vdue: number; ticket: number; surprise: number }>`
      select vdue, ticket, surprise from fare_schedule where tracked_fare_id = ${fare}
    `.execute(db)
    // Two units of 0.25 tickets are half of its interval. The ticket is that of one watch at the rate of its last check: √(1.1 × 4).
    const ticket = Math.sqrt(1.1 * 4)
    expect(rows).toEqual([
      { vdue: expect.closeTo(100 + 0.5 / ticket), ticket: expect.closeTo(ticket), surprise: 9 },
    ])
    expect(await payersOf(db, [fare, busy])).toEqual([2, 1])
    const queues = await sql<{ tickets: number; fares: number }>`
      select tickets, fares from recheck_payer where reseller_id in (1, 2) order by reseller_id
    `.execute(db)
    // Its old ticket was counted as 1, before it was 0.25.
    expect(queues.rows).toEqual([
      { tickets: expect.closeTo(301.75), fares: 301 },
      { tickets: expect.closeTo(ticket), fares: 1 },
    ])
  })

  it('stays where it is checked at its minimum interval, however many fares have a longer one', async ({
    db,
  }) => {
    const shared = { ...BOTH, minIntervalSeconds: 60 }
    const fares = await trackFares(db, [
      ...times(5, shared),
      ...times(300, { resellers: [1], minIntervalSeconds: 7_200 }),
      ...times(250, { resellers: [2] }),
    ])

    for (let minute = 0; minute < 3; minute += 1) {
      await count(db)
      expect(await moveFares(db)).toBe(0)
    }

    expect(await payersOf(db, fares.slice(0, 5))).toEqual(times(5, 1))
  })

  it('moves by a count of one process at a time', async ({ db }) => {
    await trackFares(db, times(20, { ...BOTH, payer: 2 }))
    const countedAt = async () =>
      (await sql<{ at: Date | null }>`select counted_at as at from recheck_clock`.execute(db)).rows
    const before = await countedAt()

    await withSessionLock(db, 'count-queues', () => dispatch(db, SLOW))
    expect(await countedAt()).toEqual(before)
    await dispatch(db, SLOW)
    expect(await countedAt()).not.toEqual(before)
  })

  it('moves to the reseller that asks for a delay when the other’s queue is slower', async ({
    db,
  }) => {
    const maxDelays = [null, 60]
    const fares = await trackFares(db, [
      ...times(3, { ...BOTH, maxDelays, payer: 1 }),
      ...times(3, BOTH),
      ...times(200, { resellers: [1] }),
      ...times(200, { resellers: [2] }),
    ])
    await count(db)

    await moveFares(db)

    expect(await payersOf(db, fares.slice(0, 6))).toEqual([2, 2, 2, 1, 1, 1])
    const { rows } = await sql<{ promised: number }>`
      select promised from recheck_payer where reseller_id in (1, 2) order by reseller_id
    `.execute(db)
    expect(rows).toEqual([{ promised: 0 }, { promised: expect.closeTo(3 / 60) }])
  })
})

describe('a fare whose payer watches it no more', () => {
  it('keeps its ticket and its due time, in the measure of the other queue', async ({ db }) => {
    const [ana, bob] = [await newReseller(db, 'ana'), await newReseller(db, 'bob')]
    await importRows(db, ana, [cells()])
    await importRows(db, bob, [cells()])
    await sql`
      update recheck_payer
         set v = case reseller_id when ${ana}::bigint then 8 else 100 end,
             tickets = case reseller_id when ${ana}::bigint then 10 else 80 end, fares = 20
    `.execute(db)
    await sql`update fare_schedule set payer = ${ana}, vdue = 10, ticket = 0.25`.execute(db)

    await inTransaction(db, async (tx) => {
      const { rows } = await sql<{ fare: number }>`
        update watch set paused_at = now() where reseller_id = ${ana} returning tracked_fare_id as fare
      `.execute(tx)
      await syncTrackedFares(
        tx,
        rows.map(({ fare }) => fare),
      )
    })

    const { rows } = await sql<{ payer: number; vdue: number; ticket: number }>`
      select payer, vdue, ticket from fare_schedule
    `.execute(db)
    // Half of the mean ticket, and half of its interval is left.
    expect(rows).toEqual([{ payer: bob, vdue: 100.25, ticket: 2 }])
  })
})

describe('fares that no reseller watches', () => {
  it('take a hundredth of what the fares of a reseller take', async ({ db }) => {
    const ended = times(20, { resellers: [] })
    const watched = times(20, { resellers: [await newReseller(db)] })
    const fares = await trackFares(db, [...ended, ...watched])

    const checksOf = await runSchedule(db, 300)

    const counts = fares.map((fare) => checksOf(fare).length)
    const total = (some: readonly number[]) => some.reduce((sum, count) => sum + count, 0)
    expect(total(counts.slice(0, 20))).toBeLessThanOrEqual(5)
    expect(total(counts.slice(20))).toBeGreaterThan(290)
  })
})
