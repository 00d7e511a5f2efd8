import { describe, expect, vi } from 'vitest'
import { createLogger } from '../../src/base/logger.ts'
import { type Db, sql } from '../../src/db/database.ts'
import type { UpstreamGate } from '../../src/upstream/health/upstream-gate.ts'
import { it } from '../support/test-database.ts'
import {
  callThrough,
  ENDS,
  type End,
  gateOn,
  HEALTHY,
  movedClock,
  passHealth,
  passOf,
  stateOf,
} from './health-fixtures.ts'

async function calls(gate: UpstreamGate, end: End, times: number): Promise<void> {
  for (let i = 0; i < times; i += 1) await callThrough(gate, end)
}

/** Calls that are all under way before the first of them ends. */
async function burst(gate: UpstreamGate, ends: readonly End[]): Promise<void> {
  const passes = await Promise.all(ends.map(() => gate.enter('verify')))
  expect(passes.every((pass) => pass.kind === 'pass')).toBe(true)
  for (const end of ends) void gate.report('verify', { record: ENDS[end], pass: passOf() })
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
    const [one, other] = [gateOn(db), gateOn(db)]
    const record = { ...ENDS.limited, retryAfterMs: 30_000 }

    await one.enter('verify')
    await one.report('verify', { record, pass: passOf() })

    const closed = { kind: 'closed', by: 'pause' }
    expect([await one.enter('verify'), await other.enter('lists')]).toMatchObject([closed, closed])
    expect(await other.peek('verify')).toMatchObject(closed)
    await passHealth(db, 30_000)
    expect(await gateOn(db).enter('verify')).toMatchObject({ kind: 'pass', probe: null })
  })

  it('is heard of by a process that knows better within half a second', async ({ db }) => {
    const clock = movedClock()
    const [one, other] = [gateOn(db, { clock }), gateOn(db, { clock })]
    expect((await other.enter('verify')).kind).toBe('pass')

    await callThrough(one, 'limited')
    clock.move(501)

    expect(await other.enter('verify')).toMatchObject({ kind: 'closed', by: 'pause' })
  })

  it('that comes as a 503 with a time pauses too, without lowering the budget', async ({ db }) => {
    const gate = gateOn(db)
    await gate.enter('verify')

    const record = { ...ENDS.serverError, status: 503, retryAfterMs: 2_000 }
    await gate.report('verify', { record, pass: passOf() })

    expect(await gate.enter('verify')).toMatchObject({ kind: 'closed', by: 'pause' })
    const { rows } = await sql<{ share: number }>`select share from upstream_budget`.execute(db)
    expect(rows[0]?.share).toBe(1)
  })
})

describe('the breaker of the credential', () => {
  it('opens for every process at a 401, for its group alone, and says so once', async ({ db }) => {
    const lines: string[] = []
    const log = logOf(lines)
    const [one, other] = [gateOn(db, { log }), gateOn(db, { log })]

    await callThrough(one, 'unauthorized')

    const closed = { kind: 'closed', by: 'auth' }
    expect([await one.enter('verify'), await other.enter('verify')]).toMatchObject([closed, closed])
    expect((await other.enter('lists')).kind).toBe('pass')
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
    const [one, other] = [gateOn(db, { clock }), gateOn(db, { clock })]
    await callThrough(one, 'forbidden')
    await callThrough(other, 'forbidden')
    clock.move(1_000)
    await callThrough(other, 'good')
    await other.close()
    await callThrough(one, 'forbidden')
    expect((await stateOf(db, 'verify', 'auth')).open).toBeNull()

    const third = gateOn(db)
    await callThrough(third, 'forbidden')
    await callThrough(one, 'forbidden')

    expect(await gateOn(db).peek('verify')).toMatchObject({ kind: 'closed', by: 'auth' })
  })

  it('closes when the credential is another one', async ({ db }) => {
    const lines: string[] = []
    const gate = gateOn(db)
    await callThrough(gate, 'unauthorized')

    const renewed = gateOn(db, { accessToken: 'another-token', log: logOf(lines) })

    expect(await renewed.peek('verify')).toEqual({ kind: 'free' })
    expect(await renewed.enter('verify')).toMatchObject({ kind: 'pass', probe: null })
    expect((await stateOf(db, 'verify', 'auth')).open).toBeNull()
    expect(lines.map((line) => JSON.parse(line).msg)).toEqual(['upstream breaker closed'])
  })
})

describe('the breaker of errors', () => {
  it('opens when most calls of all processes together fail', async ({ db }) => {
    const [one, other] = [gateOn(db), gateOn(db)]
    await burst(one, times(9, 'timeout'))
    await one.close()
    expect((await gateOn(db).peek('verify')).kind).toBe('free')

    await burst(other, times(11, 'serverError'))
    await other.close()

    expect(await gateOn(db).peek('verify')).toMatchObject({ kind: 'closed', by: 'errors' })
  })

  it('counts the successes of those who met no failure', async ({ db }) => {
    const clock = movedClock()
    const [well, ill] = [gateOn(db, { clock }), gateOn(db, { clock })]
    await burst(ill, times(9, 'timeout'))
    await ill.close()
    await burst(well, times(30, 'good'))
    clock.move(600)
    // It looks again, hears of the failures, and tells what it has.
    await well.enter('verify')
    await callThrough(well, 'good')
    await well.close()

    await burst(gateOn(db), times(11, 'timeout'))

    const { window, open } = await stateOf(db, 'verify', 'errors')
    expect(open).toBeNull()
    expect(window.reduce((sum, count) => sum + count.calls, 0)).toBeGreaterThanOrEqual(40)
  })

  it('opens for the lists at three failures in a row', async ({ db }) => {
    const gate = gateOn(db)
    for (let i = 0; i < 3; i += 1) await callThrough(gate, 'serverError', 'lists')
    await gate.close()

    expect(await gateOn(db).peek('lists')).toMatchObject({ kind: 'closed', by: 'errors' })
    expect((await gateOn(db).peek('verify')).kind).toBe('free')
  })
})

async function openErrors(db: Db): Promise<void> {
  const gate = gateOn(db)
  await burst(gate, times(20, 'timeout'))
  await gate.close()
}

describe('an open breaker', () => {
  it('lets one of ten through at a time, whichever process they belong to', async ({ db }) => {
    await openErrors(db)
    await passHealth(db, 5_000)
    const gates = Array.from({ length: 5 }, () => gateOn(db))

    const entered = await Promise.all([...gates, ...gates].map((gate) => gate.enter('verify')))

    const passed = entered.filter((entry) => entry.kind === 'pass')
    expect(passed).toHaveLength(1)
    expect(passed[0]?.kind === 'pass' && passed[0].probe).toBeTruthy()
    expect(await gateOn(db).peek('verify')).toMatchObject({ kind: 'closed', by: 'errors' })
  })

  it('closes for all when its probe is answered, and the log says so', async ({ db }) => {
    await openErrors(db)
    await passHealth(db, 5_000)
    const lines: string[] = []

    await callThrough(gateOn(db, { log: logOf(lines) }), 'good')

    expect((await gateOn(db).enter('verify')).kind).toBe('pass')
    expect((await stateOf(db, 'verify', 'errors')).closedAtMs).not.toBeNull()
    expect(lines.map((line) => JSON.parse(line).msg)).toEqual(['upstream breaker closed'])
  })

  it('waits twice as long after a probe that failed', async ({ db }) => {
    await openErrors(db)
    await passHealth(db, 5_000)

    await callThrough(gateOn(db), 'timeout')

    const { open } = await stateOf(db, 'verify', 'errors')
    expect((open?.probeAtMs ?? 0) - Date.now()).toBeGreaterThan(9_000)
  })

  it('gives the probe to another when its process dies, and hears no more of that one', async ({
    db,
  }) => {
    await openErrors(db)
    await passHealth(db, 5_000)
    const dead = await gateOn(db).enter('verify')
    await passHealth(db, 20_000)

    const next = await gateOn(db).enter('verify')
    const probe = dead.kind === 'pass' ? dead.probe : null
    await gateOn(db).report('verify', { record: ENDS.good, pass: passOf(probe) })

    expect(next).toMatchObject({ kind: 'pass', probe: expect.any(String) })
    expect((await stateOf(db, 'verify', 'errors')).open).not.toBeNull()
  })

  it('gives the probe back that was not made', async ({ db }) => {
    await openErrors(db)
    await passHealth(db, 5_000)

    await callThrough(gateOn(db), 'aborted')

    expect((await gateOn(db).peek('verify')).kind).toBe('probe')
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

    expect(await gateOn(db).peek('verify')).toMatchObject({ kind: 'closed', by: 'auth' })
  })
})

describe('while all is well', () => {
  it('writes nothing and reads four times a second at most', async ({ db }) => {
    const clock = movedClock()
    const gate = gateOn(db, { clock })
    const asked = vi.spyOn(db, 'getExecutor')
    const before = await written(db)
    asked.mockClear()

    for (let second = 0; second < 5; second += 1) {
      await calls(gate, 'good', 300)
      clock.move(1_000)
    }
    await gate.close()

    expect(asked.mock.calls.length).toBeLessThanOrEqual(4 * 6)
    expect(asked.mock.calls.length).toBeGreaterThan(0)
    expect(await written(db)).toBe(before)
    expect(await stateOf(db, 'verify', 'errors')).toEqual(HEALTHY)
  })

  it('goes on by what it knows when the store is away', async ({ database }) => {
    const clock = movedClock()
    const gate = gateOn(database.db, { clock })
    await callThrough(gate, 'good')
    const away = vi.spyOn(database.pool, 'connect').mockRejectedValue(new Error('away') as never)
    clock.move(10_000)

    const entered = await gate.enter('verify')
    await gate.report('verify', { record: ENDS.unauthorized, pass: passOf() })

    expect(entered.kind).toBe('pass')
    away.mockRestore()
  })
})
