import { expect } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import { createSlotQueue, NoSlotError } from '../../src/verify/on-demand/slot-queue.ts'
import { it } from '../support/test-database.ts'

const CALLS = 8
const { signal } = new AbortController()

it('callers get slots in the order of their requests', async ({ db }) => {
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
      await takeSlot(signal)
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
  await takeSlot(signal)

  const ended = await Promise.allSettled([takeSlot(signal), takeSlot(signal)])

  for (const result of ended) {
    expect(result).toMatchObject({ status: 'rejected', reason: expect.any(NoSlotError) as unknown })
  }
})
