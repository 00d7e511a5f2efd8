import { expect } from 'vitest'
import { createSlotQueue } from '../../src/fares/verify.ts'
import { systemClock } from '../../src/platform/base/clock.ts'
import { sql } from '../../src/platform/db/database.ts'
import { trackFares } from '../schedule/schedule-fixtures.ts'
import { it } from '../support/test-database.ts'

const { signal } = new AbortController()

// Fault: One caller asks sixty questions on demand.
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
  const ask = async (name: string, caller: string) => {
    await takeSlot(caller, ending.signal)
    served.push(name)
  }

  const many = Array.from({ length: 60 }, (_, n) => ask(`ana ${n}`, 'ana'))
  const others = ['bob', 'carl'].map((name) => ask(name, name))
  await Promise.all(others)
  ending.abort()
  await Promise.allSettled(many)

  expect(served).toEqual(['ana 0', 'bob', 'carl'])
})

it('a question is paid by the turns of the reseller that asks it, by its share', async ({ db }) => {
  await trackFares(db, [{ resellers: [1, 2] }])
  await sql`update reseller set share = 4 where id = 2`.execute(db)
  const takeSlot = createSlotQueue({
    db,
    clock: systemClock,
    requestsPerSecond: 1_000,
    timeoutMs: 5_000,
  })

  for (const caller of [1, 1, 2, 'operator']) await takeSlot(caller, signal)

  const { rows } = await sql`
    select reseller_id as reseller, pass, v from reseller_queue order by reseller_id
  `.execute(db)
  expect(rows).toEqual([
    { reseller: 1, pass: 2, v: 0 },
    { reseller: 2, pass: 0.25, v: 0 },
  ])
})
