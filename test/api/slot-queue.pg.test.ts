import { expect } from 'vitest'
import { createSlotQueue } from '../../src/fares/verify.ts'
import { systemClock } from '../../src/platform/base/clock.ts'
import { sql } from '../../src/platform/db/database.ts'
import { trackFares } from '../schedule/schedule-fixtures.ts'
import { it } from '../support/test-database.ts'

const ANA = new Set(['ana'])
const { signal } = new AbortController()

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

it('a question is paid by the turns of the reseller that asks it first, by its share', async ({
  db,
}) => {
  await trackFares(db, [{ resellers: [1, 2] }])
  await sql`update reseller set share = 4 where id = 2`.execute(db)
  const takeSlot = createSlotQueue({
    db,
    clock: systemClock,
    requestsPerSecond: 1_000,
    timeoutMs: 5_000,
  })

  const asked: (number | string)[][] = [[1], [1], [2, 1], ['operator']]
  for (const callers of asked) await takeSlot(new Set(callers), signal)

  const { rows } = await sql`
    select reseller_id as reseller, pass, v from reseller_queue order by reseller_id
  `.execute(db)
  expect(rows).toEqual([
    { reseller: 1, pass: 2, v: 0 },
    { reseller: 2, pass: 0.25, v: 0 },
  ])
})
