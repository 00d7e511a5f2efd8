import { expect } from 'vitest'
import type { Clock } from '../../src/platform/base/clock.ts'
import { type Db, openDatabase, sql } from '../../src/platform/db/database.ts'
import { inTransaction } from '../../src/platform/db/transaction.ts'
import {
  endBudgetLimit,
  limitBudget,
  readBudgetLimit,
} from '../../src/upstream/budget/budget-limit.ts'
import { HORIZON_MS, reserveSlots } from '../../src/upstream/budget/reserve-slots.ts'
import { takeSlot } from '../../src/upstream/budget/take-slot.ts'
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

it('slots are evenly spaced, and the first slot is now', async ({ db }) => {
  const { slots, now } = await reserve(db, { rate: 4, wanted: 5 })

  expect(slots).toHaveLength(5)
  expect(gapsOf(slots)).toEqual([250, 250, 250, 250])
  expect((slots[0]?.getTime() ?? 0) - now.getTime()).toBe(0)
})

it('unused slots are not saved up', async ({ db }) => {
  await reserve(db, { rate: 4, wanted: 1 })
  await passHealth(db, 3_600_000)

  const { slots, now } = await reserve(db, { rate: 4, wanted: 100 })

  expect(slots[0]?.getTime()).toBe(now.getTime())
  expect(new Set(gapsOf(slots))).toEqual(new Set([250]))
})

it('no slot is more than five seconds ahead', async ({ db }) => {
  const { slots, now } = await reserve(db, { rate: 10, wanted: 1_000 })
  const more = await reserve(db, { rate: 10, wanted: 1_000 })

  expect(slots).toHaveLength(51)
  for (const slot of [...slots, ...more.slots]) {
    expect(slot.getTime() - more.now.getTime()).toBeLessThanOrEqual(HORIZON_MS + 1)
  }
  expect((slots.at(-1)?.getTime() ?? 0) - now.getTime()).toBe(HORIZON_MS)
})

it.for([
  { rate: 4, wanted: 0 },
  { rate: 0, wanted: 5 },
  { rate: Number.NaN, wanted: 5 },
])('no slot is granted for $wanted wanted at a rate of $rate', async (ask, { db }) => {
  expect((await reserve(db, ask)).slots).toEqual([])
})

it('a budget of less than one slot a second is paced too', async ({ db }) => {
  const first = await reserve(db, { rate: 0.1, wanted: 5 })
  const early = await reserve(db, { rate: 0.1, wanted: 5 })
  await passHealth(db, 5_000)
  const second = await reserve(db, { rate: 0.1, wanted: 5 })

  expect([first, early, second].map(({ slots }) => slots.length)).toEqual([1, 0, 1])
})

it('a change of the rate applies from the next slot on', async ({ db }) => {
  const slow = await reserve(db, { rate: 1, wanted: 2 })
  const fast = await reserve(db, { rate: 10, wanted: 3 })
  const slower = await reserve(db, { rate: 2, wanted: 2 })

  const all = [...slow.slots, ...fast.slots, ...slower.slots]
  expect(gapsOf(all)).toEqual([1_000, 1_000, 100, 100, 100, 500])
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

const { signal } = new AbortController()

it('a single call tries again until a slot is free', async ({ db }) => {
  await reserve(db, { rate: 0.1, wanted: 1 })
  const waits: number[] = []
  const clock: Clock = {
    now: () => new Date(),
    sleep: async (ms) => {
      waits.push(ms)
      await passHealth(db, 1_000)
    },
  }

  await takeSlot(db, { requestsPerSecond: 0.1, lane: false, clock, signal })

  // The next slot is ten seconds ahead: five until it can be reserved, and the rest until it comes.
  const pauses = waits.slice(0, -1)
  expect(pauses.length).toBeGreaterThanOrEqual(1)
  expect(new Set(pauses)).toEqual(new Set([1_000]))
})

it('a single call takes another slot if its own was missed', async ({ db }) => {
  await reserve(db, { rate: 1, wanted: 3 })
  let lateMs = 0
  const sleeps: number[] = []
  const clock: Clock = {
    now: () => new Date(Date.now() + lateMs),
    // The first sleep lasts two seconds longer than requested.
    sleep: async (ms) => {
      lateMs += sleeps.length === 0 ? ms + 2_000 : ms
      sleeps.push(ms)
    },
  }

  await takeSlot(db, { requestsPerSecond: 1, lane: false, clock, signal })

  expect(sleeps).toHaveLength(2)
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
