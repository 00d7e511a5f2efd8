import { describe, expect, vi } from 'vitest'
import { type Db, sql } from '../../src/platform/db/database.ts'
import type { CircuitBreaker } from '../../src/upstream/breaker/circuit-breaker.ts'
import { untilWaiting } from '../platform/db/sessions.ts'
import { collectLog } from '../support/collected-log.ts'
import { it } from '../support/test-database.ts'
import {
  breakerOn,
  callThrough,
  ENDS,
  type End,
  HEALTHY,
  movedClock,
  passHealth,
  permitOf,
  stateOf,
} from './health-fixtures.ts'

async function calls(breaker: CircuitBreaker, end: End, times: number): Promise<void> {
  for (let i = 0; i < times; i += 1) await callThrough(breaker, end)
}

/** Calls that have all begun before the first of them ends. */
async function burst(breaker: CircuitBreaker, ends: readonly End[]): Promise<void> {
  const permits = await Promise.all(ends.map(() => breaker.acquirePermit('verify')))
  expect(permits.every(({ kind }) => kind === 'permit')).toBe(true)
  for (const end of ends) void breaker.report('verify', ENDS[end], permitOf())
}

const times = (n: number, end: End): End[] => Array.from({ length: n }, () => end)

/** The versions of the rows. They change with every write, even of the same values. */
async function written(db: Db): Promise<string> {
  const { rows } = await sql<{ xmin: string }>`
    select xmin::text || ctid::text as xmin from upstream_breaker
    union all select xmin::text || ctid::text from upstream_budget
  `.execute(db)
  return rows.map((row) => row.xmin).join(' | ')
}

describe('a requested pause', () => {
  it('stops every process until its time is over', async ({ db }) => {
    const [one, other] = [breakerOn(db), breakerOn(db)]
    const record = { ...ENDS.limited, retryAfterMs: 30_000 }

    await one.acquirePermit('verify')
    await one.report('verify', record, permitOf())

    const refusal = { kind: 'refused', by: 'pause' }
    expect([await one.acquirePermit('verify'), await other.acquirePermit('lists')]).toMatchObject([
      refusal,
      refusal,
    ])
    expect(await other.admission('verify')).toMatchObject(refusal)
    await passHealth(db, 30_000)
    expect(await breakerOn(db).acquirePermit('verify')).toMatchObject({
      kind: 'permit',
      probe: null,
    })
  })

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

describe('the auth breaker', () => {
  it('opens for every process after ten 401 in a row, only for its group, and is logged once with its cause', async ({
    db,
  }) => {
    const { log, lines } = collectLog()
    const [one, other] = [breakerOn(db, { log }), breakerOn(db, { log })]

    await callThrough(one, 'good')
    await calls(one, 'unauthorized', 5)
    await calls(other, 'unauthorized', 4)
    expect((await one.acquirePermit('verify')).kind).toBe('permit')
    await callThrough(one, 'unauthorized')

    const refusal = { kind: 'refused', by: 'auth' }
    const third = breakerOn(db)
    expect([await one.acquirePermit('verify'), await third.acquirePermit('verify')]).toMatchObject([
      refusal,
      refusal,
    ])
    expect((await other.acquirePermit('lists')).kind).toBe('permit')
    expect(lines).toHaveLength(1)
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({
      msg: 'upstream breaker opened',
      endpoint: 'verify',
      breaker: 'auth',
      cause: '401',
      lastGoodAt: expect.stringMatching(/^20/),
    })
    expect(JSON.stringify(await stateOf(db, 'verify', 'auth'))).not.toContain('token')
  })
})

describe('the errors breaker', () => {
  it('opens if most calls of all processes together fail', async ({ db }) => {
    const [one, other] = [breakerOn(db), breakerOn(db)]
    await burst(one, times(9, 'timeout'))
    await one.close()
    expect((await breakerOn(db).admission('verify')).kind).toBe('allowed')

    await burst(other, times(11, 'serverError'))
    await other.close()

    expect(await breakerOn(db).admission('verify')).toMatchObject({ kind: 'refused', by: 'errors' })
  })
})

async function openErrors(db: Db): Promise<void> {
  const breaker = breakerOn(db)
  await burst(breaker, times(20, 'timeout'))
  await breaker.close()
}

describe('an open breaker', () => {
  it('gives the probe to one of several processes that ask for it at the same moment', async ({
    db,
  }) => {
    await openErrors(db)
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

  it('gives the probe of a dead process to another one, and ignores a late report', async ({
    db,
  }) => {
    await openErrors(db)
    await passHealth(db, 5_000)
    const dead = await breakerOn(db).acquirePermit('verify')
    await passHealth(db, 20_000)

    const next = await breakerOn(db).acquirePermit('verify')
    const probe = dead.kind === 'permit' ? dead.probe : null
    await breakerOn(db).report('verify', ENDS.good, permitOf(probe))

    expect(next).toMatchObject({ kind: 'permit', probe: expect.any(String) })
    expect((await stateOf(db, 'verify', 'errors')).open).not.toBeNull()
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
