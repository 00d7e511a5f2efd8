import { randomUUID } from 'node:crypto'
import { describe, expect, onTestFinished } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import { type Database, type Db, openDatabase, sql } from '../../src/db/database.ts'
import { createMetrics } from '../../src/metrics/metrics.ts'
import { startSandbox } from '../../src/sandbox/sandbox-server.ts'
import { searchDemoFlights } from '../../src/sandbox/world/demo-flights.ts'
import { createOnDemand, type OnDemandDeps } from '../../src/verify/on-demand/on-demand.ts'
import { takeQuestion } from '../../src/verify/on-demand/question-leases.ts'
import { ask, bearer, newKeyText } from '../support/api-server.ts'
import { startFarewatch } from '../support/child-process.ts'
import { silentLog } from '../support/silent-log.ts'
import { it } from '../support/test-database.ts'
import { until } from '../support/until.ts'
import { type Answer, json } from '../upstream/answering-server.ts'
import { question } from '../upstream/verify-fixtures.ts'
import { gone as GONE, observation, RULES, trackFare } from '../verify/fare-fixtures.ts'
import { gone, ONE_ADULT, scene } from './verify-scene.ts'

const ASKED = `flightId=1234&${ONE_ADULT}`

/** An upstream that takes its time: all who ask at once have come before it answers. */
function slow(answer: Answer): Answer {
  return (request, response) => void setTimeout(() => answer(request, response), 1_000)
}

async function startedAgo(db: Db, ms: number): Promise<void> {
  await sql`
    update question_in_flight set started_at = started_at - ${`${ms} ms`}::interval
  `.execute(db)
}

function untilAsked(db: Db): Promise<unknown> {
  return until('a question', async () => {
    const { rows } = await sql`select from question_in_flight`.execute(db)
    return rows.length === 1
  })
}

/** Connections of a process of its own, and whether it has come so far as to wait for another's answer. */
function elsewhere(url: string): { readonly db: Db; readonly waits: () => Promise<unknown> } {
  const database: Database = openDatabase({ url, applicationName: 'elsewhere', log: silentLog })
  onTestFinished(() => database.close())
  let statements = 0
  database.pool.on('acquire', () => {
    statements += 1
  })
  // It has tried to take the question, and looked at who has it.
  return { db: database.db, waits: () => until('a look', () => statements >= 2) }
}

/** A process's worth of asking, with an upstream in this one. */
function onDemandOn(db: Db, verifyFares: OnDemandDeps['upstream']['verifyFares']) {
  const onDemand = createOnDemand({
    db,
    upstream: { verifyFares },
    clock: systemClock,
    rules: { ...RULES, requestsPerSecond: 1_000 },
    metrics: createMetrics(),
    log: silentLog,
  })
  onTestFinished(() => onDemand.close())
  return onDemand
}

describe('equal questions at one time', () => {
  it('of two servers are one question to the upstream', async ({ db }) => {
    const { get, another, asked } = await scene(db, slow(gone('1234')))
    const other = await another()

    const said = await Promise.all(
      Array.from({ length: 20 }, (_, i) => (i % 2 === 0 ? get : other.get)(ASKED)),
    )

    expect(said.map(({ status, text }) => `${status} ${text}`)).toEqual(
      Array.from({ length: 20 }, () => '200 {"1234":{"available":false}}'),
    )
    expect(asked).toHaveLength(1)
  })

  it('are one also where nothing is told', async ({ db }) => {
    const { get, another, asked } = await scene(db, slow(json('{}')))
    const other = await another()

    const said = await Promise.all([get(ASKED), other.get(ASKED)])

    expect(said.map(({ body }) => body.reason)).toEqual(['id_missing', 'id_missing'])
    expect(asked).toHaveLength(1)
  })

  it('are asked again once they are answered', async ({ db }) => {
    const { get, another, asked } = await scene(db)
    const other = await another()

    await get(ASKED)
    await other.get(ASKED)
    await get(ASKED)

    expect(asked).toHaveLength(3)
  })

  it('that differ in one passenger are two', async ({ db }) => {
    const { get, asked } = await scene(db, slow(gone('1234')))

    const said = await Promise.all([get(ASKED), get(`${ASKED}&residents[children]=1`)])

    expect(said.map(({ status }) => status)).toEqual([200, 200])
    expect(asked).toHaveLength(2)
  })
})

it('a question goes on when who asked it has left', async ({ db }) => {
  const fareId = await trackFare(db, { flightId: '1234' })
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  const { get, asked } = await scene(db, (request, response) => {
    void released.then(() => gone('1234')(request, response))
  })
  const leaving = new AbortController()
  const answer = get(ASKED, undefined, leaving.signal).catch(() => 'left')
  await until('a question', () => asked.length === 1)

  leaving.abort()
  expect(await answer).toBe('left')
  release()

  await until('its observation', async () => {
    const { rows } = await sql<{ id: number }>`
      select tracked_fare_id as id from fare_state where checks = 1
    `.execute(db)
    return rows[0]?.id === fareId
  })
})

describe('who joins a question', () => {
  it('waits as long as the first has waited, so that nobody is heard asking', async ({
    db,
    databaseUrl,
  }) => {
    const { promise: answered, resolve: release } = Promise.withResolvers<void>()
    const first = onDemandOn(db, async () => {
      await answered
      return observation(GONE)
    })
    const other = elsewhere(databaseUrl)
    const second = onDemandOn(other.db, async () => observation(GONE))
    const leading = first.ask(question())
    await untilAsked(db)
    await startedAgo(db, 400)

    const startedMs = performance.now()
    const joining = second.ask(question())
    await other.waits()
    release()
    await leading
    await joining

    expect(performance.now() - startedMs).toBeGreaterThanOrEqual(400)
  })

  it('asks where the process that was at it has died', async ({ db, databaseUrl }) => {
    let calls = 0
    const verifyFares = async () => {
      calls += 1
      return observation(GONE)
    }
    await onDemandOn(db, verifyFares).ask(question())
    const { rows } = await sql<{ question: string }>`
      select question from question_in_flight
    `.execute(db)
    await takeQuestion(db, { question: rows[0]?.question ?? '', asker: randomUUID() })
    const other = elsewhere(databaseUrl)

    const said = onDemandOn(other.db, verifyFares).ask(question())
    await other.waits()
    expect(calls).toBe(1)
    await sql`update question_in_flight set lease_until = clock_timestamp()`.execute(db)

    expect(await said).toMatchObject({ kind: 'known' })
    expect(calls).toBe(2)
  })

  it('asks where the process that was at it has failed', async ({ db, databaseUrl }) => {
    const { promise: failed, reject: fail } = Promise.withResolvers<never>()
    // It may fail before anybody has asked.
    failed.catch(() => undefined)
    const other = elsewhere(databaseUrl)
    const leading = onDemandOn(db, () => failed).ask(question())
    await untilAsked(db)

    const joining = onDemandOn(other.db, async () => observation(GONE)).ask(question())
    await other.waits()
    fail(new Error('a bug'))

    await expect(leading).rejects.toThrow('a bug')
    expect(await joining).toMatchObject({ kind: 'known' })
  })

  it('is told so by a process that stops', async ({ db }) => {
    const onDemand = onDemandOn(db, (_question, { signal }) => {
      return new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason))
      })
    })
    const said = [onDemand.ask(question()), onDemand.ask(question())]
    await untilAsked(db)

    await onDemand.close()

    expect(await Promise.all(said)).toEqual([
      { kind: 'unknown', reason: 'stopping', retryAfterMs: 5_000 },
      { kind: 'unknown', reason: 'stopping', retryAfterMs: 5_000 },
    ])
    expect((await sql`select from question_in_flight`.execute(db)).rows).toEqual([])
  })
})

it('answers are forgotten when nobody can wait for them any more', async ({ db }) => {
  const onDemand = onDemandOn(db, async () => observation(GONE))
  await onDemand.ask(question({ flightId: '1' }))
  await sql`update question_in_flight set lease_until = lease_until - interval '2 minutes'`.execute(
    db,
  )

  await onDemand.ask(question({ flightId: '2' }))

  expect((await sql`select from question_in_flight`.execute(db)).rows).toHaveLength(1)
})

describe('two processes of the API', () => {
  it('that are asked twenty times at once ask once', { timeout: 90_000 }, async ({
    db,
    databaseUrl,
  }) => {
    const token = 'together-access-token'
    const sandbox = await startSandbox({
      port: 0,
      seed: 7,
      speed: 0,
      token,
      clock: systemClock,
      log: silentLog,
      faults: [{ name: 'latency', endpoint: 'verify', ms: 1_500 }],
    })
    onTestFinished(() => sandbox.close())
    const key = await newKeyText(db)
    const env = {
      DATABASE_URL: databaseUrl,
      UPSTREAM_BASE_URL: sandbox.url,
      UPSTREAM_ACCESS_TOKEN: token,
      API_PORT: '0',
      ADMIN_PORT: '0',
    }
    const bases = [0, 1].map(async () => {
      const api = startFarewatch(['api'], env)
      onTestFinished(() => void api.child.kill('SIGKILL'))
      const status = await until('the API', () => /"api":"([^"]+)"/.exec(api.stdout())?.[1])
      return status.replace('/api/v1/status', '')
    })
    const servers = await Promise.all(bases)
    const [flight = ''] = searchDemoFlights(sandbox.world, sandbox.now(), 1)

    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, i) =>
        ask(`${servers[i % 2]}/api/v1/flights/fares/verify?flightId=${flight}&${ONE_ADULT}`, {
          headers: bearer(key),
        }),
      ),
    )

    const log = (await (await fetch(`${sandbox.url}/sandbox/log`)).json()) as { entries: unknown[] }
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 20 }, () => 200))
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1)
    expect(log.entries).toHaveLength(1)
  })
})
