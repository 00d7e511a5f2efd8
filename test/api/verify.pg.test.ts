import { describe, expect } from 'vitest'
import { type Db, sql } from '../../src/platform/db/database.ts'
import { kinds, passSeconds, trackFare } from '../fares/fare-fixtures.ts'
import { flightFor } from '../fares/verify-server.ts'
import { it } from '../support/test-database.ts'
import { type Answer, json } from '../upstream/answering-server.ts'
import { CANARY } from '../upstream/client-fixture.ts'
import { available, flight } from '../upstream/verify-fixtures.ts'
import { gone, ONE_ADULT, startFixture } from './verify-fixture.ts'

const GONE = gone('1234')

describe('the verify endpoint', () => {
  it('a caller gets what the upstream answered, to the digit', async ({ db }) => {
    const body = `{"1234": {"available": true, "flight": ${JSON.stringify(flight()).replace('"id":1234', '"id":1234,"ref":98765432109876543210')}}, "77": {"available": false}}`
    const { get, asked } = await startFixture(db, json(body))

    const { status, text, headers } = await get(`flightId=1234&returnFlightId=77&${ONE_ADULT}`)

    expect(status).toBe(200)
    expect(headers.get('content-type')).toBe('application/json; charset=utf-8')
    expect(headers.get('farewatch-observed-at')).toBeNull()
    expect(headers.get('ratelimit-policy')).toMatch(/^"default";.*, "on-demand";q=10;w=5$/)
    expect(text).toContain('"ref":98765432109876543210')
    expect(JSON.parse(text)).toEqual(JSON.parse(body))
    expect(asked).toHaveLength(1)
    expect(Object.fromEntries(new URL(asked[0] ?? '', 'http://x').searchParams)).toMatchObject({
      flightId: '1234',
      returnFlightId: '77',
      'residents[adults]': '0',
      'nonResidents[adults]': '1',
      'nonResidents[infants]': '0',
    })
  })

  it('a question whose return flight is its outbound flight is refused, and makes no call', async ({
    db,
  }) => {
    const { get, asked } = await startFixture(db)

    const { status, body } = await get(`flightId=1234&returnFlightId=1234&${ONE_ADULT}&maxAge=60`)

    expect(status).toBe(400)
    expect(body).toMatchObject({ code: 'verify.same_flight' })
    expect(asked).toEqual([])
  })

  it('our secrets are removed from the flight of the upstream', async ({ db }) => {
    const site = { id: 1, name: CANARY, url: `https://x.invalid/?accessToken=${CANARY}`, logo: '' }
    const { get } = await startFixture(db, json(JSON.stringify(available(flight({ site })))))

    const { status, text } = await get(`flightId=1234&${ONE_ADULT}`)

    expect(status).toBe(200)
    expect(text).not.toContain(CANARY)
  })
})

describe('an unknown availability', () => {
  it.for([
    ['a 500', (_, response) => response.writeHead(500).end('oops'), 'http_5xx'],
    ['no entry for the return flight', json('{"1234":{"available":false}}'), 'id_missing'],
  ] as readonly (readonly [string, Answer, string])[])(
    '%s is answered by a 503 with the reason, and changes no belief',
    async ([, answer, reason], { db }) => {
      const fareId = await trackFare(db, { flightId: '1234', returnFlightId: '77' })
      const { get } = await startFixture(db, answer)

      const { status, headers, body, text } = await get(
        `flightId=1234&returnFlightId=77&${ONE_ADULT}`,
      )

      expect(status).toBe(503)
      expect(body).toMatchObject({ code: 'verify.unknown', reason })
      expect(Number(headers.get('retry-after'))).toBeGreaterThan(0)
      expect(text).not.toMatch(/available|oops/)
      const { rows } = await sql<{ pair: string; reason: string }>`
        select pair, last_reason as reason from fare_state where tracked_fare_id = ${fareId}
      `.execute(db)
      expect(rows).toEqual([{ pair: 'unknown', reason }])
    },
  )

  it('a 429 is answered by a 503 with the Retry-After of the upstream', async ({ db }) => {
    const { get } = await startFixture(db, (_, response) => {
      response.writeHead(429, { 'retry-after': '77' }).end()
    })

    const { status, headers, body } = await get(`flightId=1234&${ONE_ADULT}`)

    expect(status).toBe(503)
    expect(body.reason).toBe('rate_limited')
    expect(headers.get('retry-after')).toBe('77')
  })

  it('a request without a slot in the budget is answered by a 503 and makes no call', async ({
    db,
  }) => {
    const rules = {
      requestsPerSecond: 0.01,
      minRecheckSeconds: 60,
      lossConfirmations: 2,
      gainConfirmations: 1,
      massHoldMs: 600_000,
    }
    const { get, asked } = await startFixture(db, GONE, { rules, slotTimeoutMs: 0 })
    const first = await get(`flightId=1234&${ONE_ADULT}`)

    const { status, headers, body } = await get(`flightId=5&${ONE_ADULT}`)

    expect(first.status).toBe(200)
    expect(status).toBe(503)
    expect(body).toMatchObject({ code: 'verify.unknown', reason: 'no_slot' })
    expect(headers.get('retry-after')).toBe('5')
    expect(headers.get('ratelimit-policy')).toContain('"on-demand";q=')
    expect(asked).toHaveLength(1)
  })
})

describe('a tracked fare', () => {
  it('a tracked fare records the checks of any caller by the same rules as scheduled checks', async ({
    db,
  }) => {
    const fareId = await trackFare(db, { flightId: '1234' })
    const { get, setAnswer } = await startFixture(db, json(JSON.stringify(flightFor('1234'))))
    await get(`flightId=1234&${ONE_ADULT}`)
    setAnswer(GONE)
    await get(`flightId=1234&${ONE_ADULT}`)
    expect(await kinds(db, fareId)).toEqual(['first_seen'])

    await passSeconds(db, 20)
    await get(`flightId=1234&${ONE_ADULT}`)

    expect(await kinds(db, fareId)).toEqual(['first_seen', 'became_unavailable'])
    const { rows } = await sql<{ checks: number }>`select checks from fare_state`.execute(db)
    expect(rows).toEqual([{ checks: 3 }])
  })
})

const ASKED = `flightId=1234&${ONE_ADULT}`

const YOUNG = `${ASKED}&maxAge=600`

const HERE = json(JSON.stringify(available()))

interface Kept {
  readonly askedAt: Date
  readonly body: string
}

async function keptAnswers(db: Db): Promise<readonly Kept[]> {
  const { rows } = await sql<Kept>`
    select asked_at as "askedAt", body from verify_result order by asked_at
  `.execute(db)
  return rows
}

/** Makes every kept answer older. */
async function age(db: Db, seconds: number): Promise<void> {
  await sql`
    update verify_result set asked_at = asked_at - make_interval(secs => ${seconds}::int)
  `.execute(db)
}

describe('maxAge', () => {
  it('a kept answer is returned with exactly its body and the instant of its request', async ({
    db,
  }) => {
    const { get, asked } = await startFixture(db, HERE)
    const startMs = Date.now()
    const live = await get(ASKED)

    const known = await get(YOUNG)

    expect(asked).toHaveLength(1)
    expect(live.headers.get('farewatch-observed-at')).toBeNull()
    expect(known.status).toBe(200)
    expect(known.text).toBe(live.text)
    const observedAt = new Date(known.headers.get('farewatch-observed-at') ?? '')
    expect(await keptAnswers(db)).toEqual([{ askedAt: observedAt, body: live.text }])
    expect(observedAt.getTime()).toBeGreaterThan(startMs - 1_000)
    expect(observedAt.getTime()).toBeLessThanOrEqual(Date.now())
  })

  it('an answer that is older than maxAge, or any without one, is not used', async ({ db }) => {
    const { get, asked } = await startFixture(db, HERE)
    await get(ASKED)
    await age(db, 300)

    const older = await get(`${ASKED}&maxAge=400`)
    expect(older.headers.get('farewatch-observed-at')).not.toBeNull()
    expect(asked).toHaveLength(1)

    const younger = await get(`${ASKED}&maxAge=200`)
    expect(younger.headers.get('farewatch-observed-at')).toBeNull()
    for (const query of [ASKED, `${ASKED}&maxAge=0`]) await get(query)
    expect(asked).toHaveLength(4)
  })
})

describe('a request with maxAge', () => {
  it.for([
    ['other passengers', 'flightId=1234&residents[adults]=0&nonResidents[adults]=2'],
    ['another residence', 'flightId=1234&residents[adults]=1&nonResidents[adults]=0'],
    ['another return flight', `flightId=1234&returnFlightId=77&${ONE_ADULT}`],
  ])(
    'a request for %s than that of the kept answer calls the upstream',
    async ([, query], { db }) => {
      const { get, asked } = await startFixture(db, HERE)
      await get(ASKED)

      const answer = await get(`${query}&maxAge=600`)

      expect(answer.headers.get('farewatch-observed-at')).toBeNull()
      expect(asked).toHaveLength(2)
    },
  )
})
