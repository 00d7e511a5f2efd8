import { expect } from 'vitest'
import { type Db, openDatabase, sql } from '../../src/platform/db/database.ts'
import { inTransaction } from '../../src/platform/db/transaction.ts'
import {
  endBudgetLimit,
  limitBudget,
  readBudgetLimit,
} from '../../src/upstream/budget/budget-limit.ts'
import { HORIZON_MS, reserveSlots } from '../../src/upstream/budget/reserve-slots.ts'
import { untilWaiting } from '../platform/db/sessions.ts'
import { silentLog } from '../support/silent-log.ts'
import { it } from '../support/test-database.ts'
import { passHealth, worstExcess } from './health-fixtures.ts'

interface Request {
  readonly rate: number
  readonly wanted: number
  readonly lane?: boolean
}

function reserve(db: Db, { rate, wanted, lane = false }: Request) {
  return inTransaction(db, (tx) => reserveSlots(tx, { requestsPerSecond: rate, wanted, lane }))
}

function gapsOf(slots: readonly Date[]): number[] {
  return slots.slice(1).map((slot, at) => slot.getTime() - (slots[at]?.getTime() ?? 0))
}

it('no slot is more than five seconds ahead', async ({ db }) => {
  const { slots, now } = await reserve(db, { rate: 10, wanted: 1_000 })
  const more = await reserve(db, { rate: 10, wanted: 1_000 })

  expect(slots).toHaveLength(51)
  for (const slot of [...slots, ...more.slots]) {
    expect(slot.getTime() - more.now.getTime()).toBeLessThanOrEqual(HORIZON_MS + 1)
  }
  expect((slots.at(-1)?.getTime() ?? 0) - now.getTime()).toBe(HORIZON_MS)
})

it('lanes take at most 40 % of the budget in the long run, and leave no gap', async ({ db }) => {
  const rounds = 200
  const stepMs = 500
  const lanes: number[] = []
  const all: number[] = []
  for (let round = 0; round < rounds; round += 1) {
    const early = await reserve(db, { rate: 10, wanted: 100, lane: true })
    const checks = await reserve(db, { rate: 10, wanted: 100 })
    const time = (slot: Date) => slot.getTime() + round * stepMs
    lanes.push(...early.slots.map(time))
    all.push(...early.slots.map(time), ...checks.slots.map(time))
    await passHealth(db, stepMs)
  }
  // The statements take time too, in which slots become free.
  const seconds = (Math.max(...all) - Math.min(...all)) / 1000

  expect(all.length / seconds).toBeGreaterThan(9.9)
  expect(lanes.length / seconds).toBeLessThan(4.3)
  expect(lanes.length / seconds).toBeGreaterThan(3.8)
  expect(worstExcess(all, 10)).toBeLessThanOrEqual(-8)
  // Lanes can save up at most the five seconds of the horizon.
  expect(worstExcess(lanes, 4)).toBeLessThanOrEqual(4 * HORIZON_MS * 0.001)
})

it('reservations follow the new time after the database clock was set back', async ({ db }) => {
  await reserve(db, { rate: 10, wanted: 100 })
  await passHealth(db, -600_000)

  const stopped = await reserve(db, { rate: 10, wanted: 100 })
  await passHealth(db, 1_000)
  const { slots, now } = await reserve(db, { rate: 10, wanted: 100 })

  expect(stopped.slots).toEqual([])
  expect(slots.length).toBeGreaterThanOrEqual(9)
  expect(slots.every((slot) => slot.getTime() - now.getTime() <= HORIZON_MS)).toBe(true)
})

it('no slot is granted that passed while the reservation waited for a lock', async ({ db }) => {
  const held = Promise.withResolvers<void>()
  const release = Promise.withResolvers<void>()
  const holder = inTransaction(db, async (tx) => {
    await reserveSlots(tx, { requestsPerSecond: 1_000, wanted: 1, lane: false })
    held.resolve()
    await release.promise
  })
  await held.promise
  const waiting = reserve(db, { rate: 1_000, wanted: 1 })
  await untilWaiting(db, 1)
  const { rows } = await sql<{ now: Date }>`select clock_timestamp() as now`.execute(db)
  release.resolve()
  await holder

  const { slots } = await waiting

  expect(slots[0]?.getTime()).toBeGreaterThanOrEqual(rows[0]?.now.getTime() ?? Number.NaN)
})

it('several processes that reserve at once never exceed the budget', async ({ databaseUrl }) => {
  const rate = 200
  const pools = Array.from({ length: 4 }, () =>
    openDatabase({ url: databaseUrl, applicationName: 'test', log: silentLog, maxConnections: 4 }),
  )
  const times: number[] = []
  const reserver = async (db: Db, index: number) => {
    while (times.length < 1_400) {
      const wanted = 1 + ((times.length + index) % 17)
      const { slots } = await reserve(db, { rate, wanted, lane: index % 3 === 0 })
      times.push(...slots.map((slot) => slot.getTime()))
    }
  }

  await Promise.all(
    pools.flatMap(({ db }, pool) => [0, 1, 2].map((nth) => reserver(db, pool + nth))),
  )
  await Promise.all(pools.map((pool) => pool.close()))

  expect(times.length).toBeGreaterThanOrEqual(1_400)
  expect(new Set(times).size).toBe(times.length)
  const inOrder = times.toSorted((a, b) => a - b).map((ms) => new Date(ms))
  expect(Math.min(...gapsOf(inOrder))).toBeGreaterThanOrEqual(5)
  expect(worstExcess(times, rate)).toBeLessThanOrEqual(1 - rate)
})

it('a limit widens the spacing of all slots, ends by itself, and never raises the rate', async ({
  db,
}) => {
  const limit = { requestsPerSecond: 2, reason: 'upstream is slow', by: 'cli' }
  const until = (ms: number) => new Date(Date.now() + ms)
  await limitBudget(db, { ...limit, until: until(60_000) })

  const limited = await reserve(db, { rate: 10, wanted: 3 })
  expect(gapsOf(limited.slots)).toEqual([500, 500])
  expect(gapsOf((await reserve(db, { rate: 1, wanted: 3 })).slots)).toEqual([1_000, 1_000])
  await passHealth(db, 60_000)
  const lanes = await reserve(db, { rate: 10, wanted: 3, lane: true })
  expect(lanes.slots).toHaveLength(3)
  const again = await reserve(db, { rate: 10, wanted: 100, lane: true })
  // Two fifths of 2 a second over the five seconds ahead.
  expect(lanes.slots.length + again.slots.length).toBe(5)

  await sql`update upstream_budget set limited_until = clock_timestamp()`.execute(db)
  await passHealth(db, 60_000)
  expect(gapsOf((await reserve(db, { rate: 10, wanted: 3 })).slots)).toEqual([100, 100])
  expect(await readBudgetLimit(db)).toBeUndefined()
  await limitBudget(db, { ...limit, until: until(60_000) })
  expect(await endBudgetLimit(db, 'cli')).toMatchObject(limit)
})
