import { describe, expect } from 'vitest'
import { type Db, sql } from '../../src/platform/db/database.ts'
import { inTransaction } from '../../src/platform/db/transaction.ts'
import { chargeLanes } from '../../src/schedule/claim.ts'
import { updateRates } from '../../src/schedule/update-rates.ts'
import { untilWaiting } from '../platform/db/sessions.ts'
import { it } from '../support/test-database.ts'
import { scheduleOf, trackFares, updateNow } from './schedule-fixtures.ts'

const RULES = { requestsPerSecond: 1, minRecheckSeconds: 1 }

/** Tracks fares of one reseller that join the queue at the next solve. */
function add(db: Db, fares: number, reseller = 1): Promise<number[]> {
  return trackFares(
    db,
    Array.from({ length: fares }, () => ({ resellers: [reseller], rate: null })),
  )
}

/** How often the fares are checked, in checks in a thousand seconds. */
async function pacesOf(db: Db, fares: readonly number[]): Promise<number[]> {
  const rows = await Promise.all(fares.map((fare) => scheduleOf(db, fare)))
  return rows.map(({ rate }) => Math.round((rate ?? Number.NaN) * 1_000))
}

const many = (count: number, pace: number) => Array.from({ length: count }, () => pace)

/** Solves, and lets so many fares follow. */
async function follow(db: Db, mostFollowing: number, rules = RULES): Promise<void> {
  await sql`update fare_schedule_clock set solved_at = '-infinity'`.execute(db)
  await updateRates(db, rules, { mostFollowing })
}

async function followedTo(db: Db): Promise<number | undefined> {
  const { rows } = await sql<{ to: number }>`
    select followed_to as to from fare_schedule_clock where following <> '{}'
  `.execute(db)
  return rows[0]?.to
}

describe('fares that follow a changed pace', () => {
  it('do so some at a time, whichever process goes on, and all that are new join', async ({
    db,
  }) => {
    const few = await add(db, 10)
    await updateNow(db, RULES)
    const joining = await add(db, 90)

    await follow(db, 4)
    expect(await pacesOf(db, few)).toEqual([...many(4, 10), ...many(6, 100)])
    expect(await pacesOf(db, joining)).toEqual(many(90, 10))
    await follow(db, 4)
    expect(await pacesOf(db, few)).toEqual([...many(8, 10), ...many(2, 100)])
    await follow(db, 4)

    expect(await pacesOf(db, few)).toEqual(many(10, 10))
  })

  it('of a reseller whose pace changes during the walk of others follow in the next one', async ({
    db,
  }) => {
    const [first = 0] = await add(db, 10)
    const others = await add(db, 10, 2)
    await updateNow(db, RULES)
    await add(db, 90)
    await add(db, 90, 2)
    await sql`update fare_schedule_clock set following = '{1}', followed_to = ${first}`.execute(db)

    await updateNow(db, RULES)
    expect(await pacesOf(db, others)).toEqual(many(10, 50))
    await updateNow(db, RULES)

    expect(await pacesOf(db, others)).toEqual(many(10, 5))
  })

  it('follow again if it changes before the last of them do', async ({ db }) => {
    const few = await add(db, 10)
    await updateNow(db, RULES)
    await add(db, 10)
    await follow(db, 5)
    await add(db, 20)

    await follow(db, 10)
    expect(await pacesOf(db, few)).toEqual([...many(5, 50), ...many(5, 25)])
    await follow(db, 100)
    await follow(db, 100)

    expect(await pacesOf(db, few)).toEqual(many(10, 25))
  })

  it('follow again if it changes and comes back meanwhile', async ({ db }) => {
    const few = await add(db, 10)
    await updateNow(db, RULES)
    await add(db, 10)
    await follow(db, 5)
    const passing = await add(db, 20)
    await follow(db, 5)
    expect(await pacesOf(db, few)).toEqual([...many(5, 50), ...many(5, 25)])
    await sql`delete from fare_schedule where tracked_fare_id = any(${passing}::bigint[])`.execute(
      db,
    )

    await follow(db, 100)
    await follow(db, 100)

    expect(await pacesOf(db, few)).toEqual(many(10, 50))
  })

  it('all come to their turn although two workers have different settings', async ({ db }) => {
    await add(db, 20)
    await updateNow(db, RULES)
    const places: (number | undefined)[] = []
    for (const minRecheckSeconds of [30, 25, 30, 25]) {
      await follow(db, 5, { ...RULES, minRecheckSeconds })
      places.push(await followedTo(db))
    }

    expect(new Set(places).size).toBe(4)
  })

  it('go on after the last that did when the time of a run has ended', async ({ db }) => {
    const fares = await add(db, 6_000)
    await updateNow(db, RULES)
    await add(db, 6_000)
    await updateNow(db, RULES)
    await sql`update fare_schedule_clock set solved_at = '-infinity'`.execute(db)
    await sql`update fare_schedule_reseller set applied_pace = 9`.execute(db)
    let asked = 0
    const signal = {
      get aborted() {
        asked += 1
        return asked > 1
      },
    } as AbortSignal

    await updateRates(db, RULES, { signal })

    expect(await followedTo(db)).toBe(fares[4_999])
  })

  it('begin while a claim is charged to their reseller', async ({ db }) => {
    const few = await add(db, 10)
    await updateNow(db, RULES)
    await add(db, 10)
    await sql`update fare_schedule_clock set solved_at = '-infinity'`.execute(db)

    const solved = await inTransaction(db, async (tx) => {
      await sql`update fare_schedule_clock set v = v + 1`.execute(tx)
      const solving = updateRates(db, RULES)
      await untilWaiting(db, 1)
      await chargeLanes(tx, new Map([[1, 1]]))
      return { solving }
    })
    await solved.solving

    expect(await pacesOf(db, few)).toEqual(many(10, 50))
  })
})
