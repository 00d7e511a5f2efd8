import { expect } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import { createSlotQueue, NoSlotError } from '../../src/verify/on-demand/slot-queue.ts'
import { it } from '../support/test-database.ts'

const CALLS = 8
const { signal } = new AbortController()

it('slots are given in the order in which they were asked for', async ({ db }) => {
  const takeSlot = createSlotQueue({
    db,
    clock: systemClock,
    // A slot each quarter of a second: a machine that stands still for less changes no order.
    requestsPerSecond: 10,
    timeoutMs: 10_000,
  })
  const given: number[] = []
  const wanted = Array.from({ length: CALLS }, (_, n) => n)

  await Promise.all(
    wanted.map(async (n) => {
      await takeSlot(signal)
      given.push(n)
    }),
  )

  expect(given).toEqual(wanted)
})

it('who is given none in time is told so, and those behind too', async ({ db }) => {
  const takeSlot = createSlotQueue({
    db,
    clock: systemClock,
    requestsPerSecond: 0.1,
    timeoutMs: 200,
  })
  await takeSlot(signal)

  const ended = await Promise.allSettled([takeSlot(signal), takeSlot(signal)])

  for (const one of ended) {
    expect(one).toMatchObject({ status: 'rejected', reason: expect.any(NoSlotError) as unknown })
  }
})
