import fc from 'fast-check'
import { expect } from 'vitest'
import { type Db, sql } from '../../src/platform/db/database.ts'
import { inTransaction } from '../../src/platform/db/transaction.ts'
import { HORIZON_MS, reserveSlots } from '../../src/upstream/budget/reserve-slots.ts'
import {
  lockThrottle,
  type PauseRequest,
  saveThrottle,
  throttled,
} from '../../src/upstream/budget/throttle.ts'
import { it } from '../support/test-database.ts'
import { passHealth, worstExcess } from './health-fixtures.ts'

function reserve(db: Db, { rate = 10, wanted = 1_000, lane = false, withinMs = HORIZON_MS } = {}) {
  return inTransaction(db, (tx) =>
    reserveSlots(tx, { requestsPerSecond: rate, wanted, lane, withinMs }),
  )
}

/** Applies a pause as the circuit breaker does after an answer that asked to wait. */
function applyPause(db: Db, request: PauseRequest): Promise<void> {
  return inTransaction(db, async (tx) => {
    const { throttle, nowMs } = await lockThrottle(tx)
    await saveThrottle(tx, throttled(throttle, request, nowMs))
  })
}

/** A refusal of a call that was made later than every pause. */
const refusal = (retryAfterMs: number): PauseRequest => ({
  retryAfterMs,
  lowersBudget: true,
  madeAtMs: Number.POSITIVE_INFINITY,
})

// Fault: Asked to wait: a pause for all processes with a limited length; no fare and no attempt of a list is affected.
it('the budget grants no slot during a pause, and fewer after it', async ({ db }) => {
  await applyPause(db, refusal(60_000))
  const paused = await reserve(db)
  await passHealth(db, 59_000)
  const still = await reserve(db)
  await passHealth(db, 1_000)
  const after = await reserve(db)

  expect([paused.slots, still.slots]).toEqual([[], []])
  expect(after.slots[0]?.getTime()).toBe(after.now.getTime())
  // 10 a second times 0.7, five seconds ahead.
  expect(after.slots).toHaveLength(36)
})

it('reservations never exceed the budget, with any pauses in between', { timeout: 60_000 }, async ({
  db,
}) => {
  const rate = 7
  const steps = fc.array(
    fc.record({
      retryAfterMs: fc.option(fc.integer({ min: 0, max: 8_000 })),
      lane: fc.boolean(),
      wanted: fc.nat(40),
      withinMs: fc.constantFrom(1_000, HORIZON_MS),
      passMs: fc.nat(4_000),
    }),
    { minLength: 1, maxLength: 25 },
  )
  await fc.assert(
    fc.asyncProperty(steps, async (all) => {
      await sql`
        update upstream_budget
           set next_slot_at = '-infinity', next_lane_at = '-infinity', paused_until = 'epoch',
               share = 1, recovers_from = 'epoch'
      `.execute(db)
      const granted: number[] = []
      let aheadMs = 0
      for (const { retryAfterMs, passMs, ...ask } of all) {
        if (retryAfterMs !== null) await applyPause(db, refusal(retryAfterMs))
        const { slots } = await reserve(db, { rate, ...ask })
        granted.push(...slots.map((slot) => slot.getTime() + aheadMs))
        await passHealth(db, passMs)
        aheadMs += passMs
      }
      expect(worstExcess(granted, rate)).toBeLessThanOrEqual(0)
      expect(new Set(granted).size).toBe(granted.length)
    }),
    { numRuns: 20 },
  )
})
