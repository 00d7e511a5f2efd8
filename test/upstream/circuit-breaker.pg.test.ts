import { describe, expect, vi } from 'vitest'
import { type Db, sql } from '../../src/platform/db/database.ts'
import type { CircuitBreaker } from '../../src/upstream/breaker/circuit-breaker.ts'
import { untilWaiting } from '../platform/db/sessions.ts'
import { it } from '../support/test-database.ts'
import {
  breakerOn,
  callThrough,
  type End,
  HEALTHY,
  movedClock,
  passHealth,
  stateOf,
} from './health-fixtures.ts'

async function calls(breaker: CircuitBreaker, end: End, times: number): Promise<void> {
  for (let i = 0; i < times; i += 1) await callThrough(breaker, end)
}

/** The versions of the rows. They change with every write, even of the same values. */
async function written(db: Db): Promise<string> {
  const { rows } = await sql<{ xmin: string }>`
    select xmin::text || ctid::text as xmin from upstream_breaker
    union all select xmin::text || ctid::text from upstream_budget
  `.execute(db)
  return rows.map((row) => row.xmin).join(' | ')
}

// Fault: Credential refused: few calls, no change of belief; ends with a successful probe.
// Fault: Server errors: calls stop, one process probes, all recover; beliefs stay and are shown as stale when they are old.
describe('a requested pause', () => {
  it.for([
    { after: 'a quarter of a second after its notification', ms: 250, isNotified: true },
    { after: 'a second without one', ms: 1_000, isNotified: false },
  ])('is known $after to a process that read the state before', async (given, { db }) => {
    const clock = movedClock()
    const [one, other] = [breakerOn(db, { clock }), breakerOn(db, { clock })]
    expect((await other.acquirePermit('verify')).kind).toBe('permit')

    await callThrough(one, 'limited')
    if (given.isNotified) other.notify()
    clock.move(given.ms)

    expect(await other.acquirePermit('verify')).toMatchObject({ kind: 'refused', by: 'pause' })
  })
})

describe('an open breaker', () => {
  it('gives the probe to one of several processes that ask for it at the same moment', async ({
    db,
  }) => {
    await calls(breakerOn(db), 'timeout', 20)
    await passHealth(db, 5_000)
    const breakers = [breakerOn(db), breakerOn(db), breakerOn(db)]
    for (const breaker of breakers) {
      expect((await breaker.admission('verify')).kind).toBe('probe')
    }
    const tx = await db.startTransaction().execute()
    await sql`select from upstream_breaker for update`.execute(tx)

    const asked = breakers.map((breaker) => breaker.acquirePermit('verify'))
    await untilWaiting(db, breakers.length)
    await tx.commit().execute()

    const permits = (await Promise.all(asked)).filter(({ kind }) => kind === 'permit')
    expect(permits).toHaveLength(1)
  })
})

describe('while all calls succeed, a process', () => {
  it('writes nothing and reads at most four times a second', async ({ db }) => {
    const clock = movedClock()
    const breaker = breakerOn(db, { clock })
    const queries = vi.spyOn(db, 'getExecutor')
    const before = await written(db)
    queries.mockClear()

    for (let second = 0; second < 5; second += 1) {
      await calls(breaker, 'good', 300)
      clock.move(1_000)
    }
    await breaker.close()

    expect(queries.mock.calls.length).toBeLessThanOrEqual(4 * 6)
    expect(queries.mock.calls.length).toBeGreaterThan(0)
    expect(await written(db)).toBe(before)
    expect(await stateOf(db, 'verify', 'errors')).toEqual(HEALTHY)
  })
})
