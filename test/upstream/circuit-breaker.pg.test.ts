import { describe, expect, vi } from 'vitest'
import { createLogger } from '../../src/base/logger.ts'
import { type Db, sql } from '../../src/db/database.ts'
import type { CircuitBreaker } from '../../src/upstream/breaker/circuit-breaker.ts'
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

/** Calls that are all under way before the first of them ends. */
async function burst(breaker: CircuitBreaker, ends: readonly End[]): Promise<void> {
  const passes = await Promise.all(ends.map(() => breaker.acquirePermit('verify')))
  expect(passes.every((pass) => pass.kind === 'permit')).toBe(true)
  for (const end of ends) void breaker.report('verify', { record: ENDS[end], permit: permitOf() })
}

const times = (n: number, end: End): End[] => Array.from({ length: n }, () => end)

/** What the rows look like to Postgres: another text after any write, even of the same values. */
async function written(db: Db): Promise<string> {
  const { rows } = await sql<{ xmin: string }>`
    select string_agg(xmin::text || ctid::text, ' ' order by endpoint, breaker) as xmin from upstream_breaker
    union all select xmin::text || ctid::text from upstream_budget
  `.execute(db)
  return rows.map((row) => row.xmin).join(' | ')
}

function logOf(lines: string[]) {
  const destination = { write: (line: string) => lines.push(line) }
  return createLogger({ level: 'info', scrub: (text) => text, destination })
}

describe('a 429', () => {
  it('pauses every process, and goes on when the time is over', async ({ db }) => {
    const [one, other] = [breakerOn(db), breakerOn(db)]
    const record = { ...ENDS.limited, retryAfterMs: 30_000 }

    await one.acquirePermit('verify')
    await one.report('verify', { record, permit: permitOf() })

    const closed = { kind: 'refused', by: 'pause' }
    expect([await one.acquirePermit('verify'), await other.acquirePermit('lists')]).toMatchObject([
      closed,
      closed,
    ])
    expect(await other.admission('verify')).toMatchObject(closed)
    await passHealth(db, 30_000)
    expect(await breakerOn(db).acquirePermit('verify')).toMatchObject({
      kind: 'permit',
      probe: null,
    })
  })

  it('is heard of by a process that knows better within half a second', async ({ db }) => {
    const clock = movedClock()
    const [one, other] = [breakerOn(db, { clock }), breakerOn(db, { clock })]
    expect((await other.acquirePermit('verify')).kind).toBe('permit')

    await callThrough(one, 'limited')
    clock.move(501)

    expect(await other.acquirePermit('verify')).toMatchObject({ kind: 'refused', by: 'pause' })
  })

  it('that comes as a 503 with a time pauses too, without lowering the budget', async ({ db }) => {
    const breaker = breakerOn(db)
    await breaker.acquirePermit('verify')

    const record = { ...ENDS.serverError, status: 503, retryAfterMs: 2_000 }
    await breaker.report('verify', { record, permit: permitOf() })

    expect(await breaker.acquirePermit('verify')).toMatchObject({ kind: 'refused', by: 'pause' })
    const { rows } = await sql<{ share: number }>`select share from upstream_budget`.execute(db)
    expect(rows[0]?.share).toBe(1)
  })
})

describe('the breaker of the credential', () => {
  it('opens for every process at a 401, for its group alone, and says so once', async ({ db }) => {
    const lines: string[] = []
    const log = logOf(lines)
    const [one, other] = [breakerOn(db, { log }), breakerOn(db, { log })]

    await callThrough(one, 'unauthorized')

    const closed = { kind: 'refused', by: 'auth' }
    expect([await one.acquirePermit('verify'), await other.acquirePermit('verify')]).toMatchObject([
      closed,
      closed,
    ])
    expect((await other.acquirePermit('lists')).kind).toBe('permit')
    expect(lines).toHaveLength(1)
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({
      msg: 'upstream breaker opened',
      endpoint: 'verify',
      breaker: 'auth',
    })
    expect(JSON.stringify(await stateOf(db, 'verify', 'auth'))).not.toContain('token')
  })

  it('opens at three 403 of several processes, unless one got through between', async ({ db }) => {
    const clock = movedClock()
    const [one, other] = [breakerOn(db, { clock }), breakerOn(db, { clock })]
    await callThrough(one, 'forbidden')
    await callThrough(other, 'forbidden')
    clock.move(1_000)
    await callThrough(other, 'good')
    await other.close()
    await callThrough(one, 'forbidden')
    expect((await stateOf(db, 'verify', 'auth')).open).toBeNull()

    const third = breakerOn(db)
    await callThrough(third, 'forbidden')
    await callThrough(one, 'forbidden')

    expect(await breakerOn(db).admission('verify')).toMatchObject({ kind: 'refused', by: 'auth' })
  })

  it('closes when the credential is another one', async ({ db }) => {
    const lines: string[] = []
    const breaker = breakerOn(db)
    await callThrough(breaker, 'unauthorized')

    const renewed = breakerOn(db, { accessToken: 'another-token', log: logOf(lines) })

    expect(await renewed.admission('verify')).toEqual({ kind: 'allowed' })
    expect(await renewed.acquirePermit('verify')).toMatchObject({ kind: 'permit', probe: null })
    expect((await stateOf(db, 'verify', 'auth')).open).toBeNull()
    expect(lines.map((line) => JSON.parse(line).msg)).toEqual(['upstream breaker closed'])
  })
})

describe('the breaker of errors', () => {
  it('opens when most calls of all processes together fail', async ({ db }) => {
    const [one, other] = [breakerOn(db), breakerOn(db)]
    await burst(one, times(9, 'timeout'))
    await one.close()
    expect((await breakerOn(db).admission('verify')).kind).toBe('allowed')

    await burst(other, times(11, 'serverError'))
    await other.close()

    expect(await breakerOn(db).admission('verify')).toMatchObject({ kind: 'refused', by: 'errors' })
  })

  it('counts the successes of those who met no failure', async ({ db }) => {
    const clock = movedClock()
    const [well, ill] = [breakerOn(db, { clock }), breakerOn(db, { clock })]
    await burst(ill, times(9, 'timeout'))
    await ill.close()
    await burst(well, times(30, 'good'))
    clock.move(600)
    // It looks again, hears of the failures, and tells what it has.
    await well.acquirePermit('verify')
    await callThrough(well, 'good')
    await well.close()

    await burst(breakerOn(db), times(11, 'timeout'))

    const { window, open } = await stateOf(db, 'verify', 'errors')
    expect(open).toBeNull()
    expect(window.reduce((sum, count) => sum + count.calls, 0)).toBeGreaterThanOrEqual(40)
  })

  it('opens for the lists at three failures in a row', async ({ db }) => {
    const breaker = breakerOn(db)
    for (let i = 0; i < 3; i += 1) await callThrough(breaker, 'serverError', 'lists')
    await breaker.close()

    expect(await breakerOn(db).admission('lists')).toMatchObject({ kind: 'refused', by: 'errors' })
    expect((await breakerOn(db).admission('verify')).kind).toBe('allowed')
  })
})

async function openErrors(db: Db): Promise<void> {
  const breaker = breakerOn(db)
  await burst(breaker, times(20, 'timeout'))
  await breaker.close()
}

describe('an open breaker', () => {
  it('lets one of ten through at a time, whichever process they belong to', async ({ db }) => {
    await openErrors(db)
    await passHealth(db, 5_000)
    const gates = Array.from({ length: 5 }, () => breakerOn(db))

    const entered = await Promise.all(
      [...gates, ...gates].map((breaker) => breaker.acquirePermit('verify')),
    )

    const passed = entered.filter((admission) => admission.kind === 'permit')
    expect(passed).toHaveLength(1)
    expect(passed[0]?.kind === 'permit' && passed[0].probe).toBeTruthy()
    expect(await breakerOn(db).admission('verify')).toMatchObject({ kind: 'refused', by: 'errors' })
  })

  it('closes for all when its probe is answered, and the log says so', async ({ db }) => {
    await openErrors(db)
    await passHealth(db, 5_000)
    const lines: string[] = []

    await callThrough(breakerOn(db, { log: logOf(lines) }), 'good')

    expect((await breakerOn(db).acquirePermit('verify')).kind).toBe('permit')
    expect((await stateOf(db, 'verify', 'errors')).closedAtMs).not.toBeNull()
    expect(lines.map((line) => JSON.parse(line).msg)).toEqual(['upstream breaker closed'])
  })

  it('waits twice as long after a probe that failed', async ({ db }) => {
    await openErrors(db)
    await passHealth(db, 5_000)

    await callThrough(breakerOn(db), 'timeout')

    const { open } = await stateOf(db, 'verify', 'errors')
    expect((open?.probeAtMs ?? 0) - Date.now()).toBeGreaterThan(9_000)
  })

  it('gives the probe to another when its process dies, and hears no more of that one', async ({
    db,
  }) => {
    await openErrors(db)
    await passHealth(db, 5_000)
    const dead = await breakerOn(db).acquirePermit('verify')
    await passHealth(db, 20_000)

    const next = await breakerOn(db).acquirePermit('verify')
    const probe = dead.kind === 'permit' ? dead.probe : null
    await breakerOn(db).report('verify', { record: ENDS.good, permit: permitOf(probe) })

    expect(next).toMatchObject({ kind: 'permit', probe: expect.any(String) })
    expect((await stateOf(db, 'verify', 'errors')).open).not.toBeNull()
  })

  it('gives the probe back that was not made', async ({ db }) => {
    await openErrors(db)
    await passHealth(db, 5_000)

    await callThrough(breakerOn(db), 'aborted')

    expect((await breakerOn(db).admission('verify')).kind).toBe('probe')
  })

  it('is one of two: the credential that is refused still has its own', async ({ db }) => {
    await openErrors(db)
    await sql`
      update upstream_breaker
         set state = jsonb_set((select state from upstream_breaker where endpoint = 'verify' and breaker = 'errors'),
                               '{open,probeAtMs}', to_jsonb(extract(epoch from now()) * 1000 + 60000))
       where endpoint = 'verify' and breaker = 'auth'
    `.execute(db)
    await passHealth(db, 5_000)

    expect(await breakerOn(db).admission('verify')).toMatchObject({ kind: 'refused', by: 'auth' })
  })
})

describe('while all is well', () => {
  it('writes nothing and reads four times a second at most', async ({ db }) => {
    const clock = movedClock()
    const breaker = breakerOn(db, { clock })
    const asked = vi.spyOn(db, 'getExecutor')
    const before = await written(db)
    asked.mockClear()

    for (let second = 0; second < 5; second += 1) {
      await calls(breaker, 'good', 300)
      clock.move(1_000)
    }
    await breaker.close()

    expect(asked.mock.calls.length).toBeLessThanOrEqual(4 * 6)
    expect(asked.mock.calls.length).toBeGreaterThan(0)
    expect(await written(db)).toBe(before)
    expect(await stateOf(db, 'verify', 'errors')).toEqual(HEALTHY)
  })

  it('goes on by what it knows when the store is away', async ({ database }) => {
    const clock = movedClock()
    const breaker = breakerOn(database.db, { clock })
    await callThrough(breaker, 'good')
    const away = vi.spyOn(database.pool, 'connect').mockRejectedValue(new Error('away') as never)
    clock.move(10_000)

    const entered = await breaker.acquirePermit('verify')
    await breaker.report('verify', { record: ENDS.unauthorized, permit: permitOf() })

    expect(entered.kind).toBe('permit')
    away.mockRestore()
  })
})
