import { expect } from 'vitest'
import { createSlotQueue, NoSlotError } from '../../src/fares/on-demand/slot-queue.ts'
import { systemClock } from '../../src/platform/base/clock.ts'
import { sql } from '../../src/platform/db/database.ts'
import { trackFares } from '../schedule/schedule-fixtures.ts'
import { it } from '../support/test-database.ts'

const CALLS = 8
const ANA = new Set(['ana'])
const { signal } = new AbortController()

it('a caller gets slots in the order of its requests', async ({ db }) => {
  const takeSlot = createSlotQueue({
    db,
    clock: systemClock,
    // One slot each 250 ms (the lanes' share of the budget): a shorter pause of the machine changes no order.
    requestsPerSecond: 10,
    timeoutMs: 10_000,
  })
  const served: number[] = []
  const wanted = Array.from({ length: CALLS }, (_, n) => n)

  await Promise.all(
    wanted.map(async (n) => {
      await takeSlot(ANA, signal)
      served.push(n)
    }),
  )

  expect(served).toEqual(wanted)
})

it('a caller that gets no slot in time fails, and so do the callers behind it', async ({ db }) => {
  const takeSlot = createSlotQueue({
    db,
    clock: systemClock,
    requestsPerSecond: 0.1,
    timeoutMs: 200,
  })
  await takeSlot(ANA, signal)

  const ended = await Promise.allSettled([takeSlot(ANA, signal), takeSlot(ANA, signal)])

  for (const result of ended) {
    expect(result).toMatchObject({ status: 'rejected', reason: expect.any(NoSlotError) as unknown })
  }
})

it('callers take turns: the questions of others wait for one slot each, not for sixty', async ({
  db,
}) => {
  const takeSlot = createSlotQueue({
    db,
    clock: systemClock,
    requestsPerSecond: 10,
    timeoutMs: 20_000,
  })
  const served: string[] = []
  const ending = new AbortController()
  const ask = async (name: string, callers: ReadonlySet<string>) => {
    await takeSlot(callers, ending.signal)
    served.push(name)
  }

  const joined = new Set(['ana'])
  const many = Array.from({ length: 60 }, (_, n) => ask(`ana ${n}`, n === 50 ? joined : ANA))
  const others = ['bob', 'carl'].map((name) => ask(name, new Set([name])))
  // Another caller asks a question that waits already.
  joined.add('dora')
  await Promise.all([...others, many[50]])
  ending.abort()
  await Promise.allSettled(many)

  expect(served).toEqual(['ana 0', 'ana 50', 'bob', 'carl'])
})

it('the questions of a reseller are charged to it, and get half of its part while other fares wait', async ({
  db,
}) => {
  // Half of its part is a little less than 0.01 checks a second: 3 begin in the five minutes over which lanes are charged.
  await trackFares(db, [{ resellers: [1, 2] }])
  await sql`update fare_schedule_reseller set part = 0.0199`.execute(db)
  const takeSlot = createSlotQueue({
    db,
    clock: systemClock,
    requestsPerSecond: 1_000,
    timeoutMs: 0,
  })
  const ask = (caller: number | string) => takeSlot(new Set([caller]), AbortSignal.timeout(5_000))

  for (let i = 0; i < 3; i += 1) await ask(1)
  await expect(ask(1)).rejects.toThrow(NoSlotError)
  await ask(2)
  await ask('operator')
  await sql`update fare_schedule set not_before = now() + interval '1 hour'`.execute(db)
  await ask(1)

  const { rows } = await sql<{ checks: number }>`
    select round((in_lanes * 300)::numeric)::int as checks from fare_schedule_reseller order by reseller_id
  `.execute(db)
  expect(rows.map(({ checks }) => checks)).toEqual([1, 4, 1])
})
