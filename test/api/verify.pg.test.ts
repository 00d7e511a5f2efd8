import { describe, expect } from 'vitest'
import { sql } from '../../src/platform/db/database.ts'
import { kinds, passSeconds, RULES, trackFare } from '../fares/fare-fixtures.ts'
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

  // Fault: A return flight that is the outbound flight.
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
    ['a 500', (_, response) => response.writeHead(500).end('oops'), 'http_5xx', /\d/],
    ['no entry for the return flight', json('{"1234":{"available":false}}'), 'id_missing', /\d/],
    [
      'a 429',
      (_, response) => response.writeHead(429, { 'retry-after': '77' }).end(),
      'rate_limited',
      /^77$/,
    ],
  ] as readonly (readonly [string, Answer, string, RegExp])[])(
    '%s is answered by a 503 with the reason and a Retry-After, and changes no belief',
    async ([, answer, reason, retryAfter], { db }) => {
      await trackFare(db, { flightId: '1234', returnFlightId: '77' })
      const { get } = await startFixture(db, answer)

      const shown = await get(`flightId=1234&returnFlightId=77&${ONE_ADULT}`)

      expect(shown).toMatchObject({ status: 503, body: { code: 'verify.unknown', reason } })
      expect(shown.headers.get('retry-after')).toMatch(retryAfter)
      expect(shown.text).not.toMatch(/available|oops/)
      const { rows } = await sql`select from fare_state where pair <> 'unknown'`.execute(db)
      expect(rows).toEqual([])
    },
  )

  it('a request without a slot in the budget is answered by a 503 and makes no call', async ({
    db,
  }) => {
    const rules = { ...RULES, requestsPerSecond: 0.01 }
    const { get, asked } = await startFixture(db, GONE, { rules, slotTimeoutMs: 0 })
    expect((await get(`flightId=1234&${ONE_ADULT}`)).status).toBe(200)

    const refused = await get(`flightId=5&${ONE_ADULT}`)

    expect(refused).toMatchObject({
      status: 503,
      body: { code: 'verify.unknown', reason: 'no_slot' },
    })
    expect(refused.headers.get('retry-after')).toBe('5')
    expect(refused.headers.get('ratelimit-policy')).toContain('"on-demand";q=')
    expect(asked).toHaveLength(1)
  })
})

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

const ASKED = `flightId=1234&${ONE_ADULT}`

describe('maxAge', () => {
  const HERE = json(JSON.stringify(available()))
  const observedAtOf = ({ headers }: { headers: Headers }) => headers.get('farewatch-observed-at')

  it('a kept answer is returned with exactly its body and the instant of its request', async ({
    db,
  }) => {
    const { get, asked } = await startFixture(db, HERE)
    const startMs = Date.now()
    const live = await get(ASKED)
    const known = await get(`${ASKED}&maxAge=600`)

    const observedAt = observedAtOf(known) ?? ''
    expect([observedAtOf(live), known.status, known.text]).toEqual([null, 200, live.text])
    expect(asked).toHaveLength(1)
    const { rows } = await sql<{ at: Date; body: string }>`
      select asked_at as at, body from verify_result
    `.execute(db)
    expect(rows).toEqual([{ at: new Date(observedAt), body: live.text }])
    expect(Date.parse(observedAt)).toBeGreaterThan(startMs - 1_000)
    expect(Date.parse(observedAt)).toBeLessThanOrEqual(Date.now())
  })

  it.for([
    ['what is younger than 400 s', `${ASKED}&maxAge=400`, true],
    ['what is younger than 200 s', `${ASKED}&maxAge=200`, false],
    ['a live answer', ASKED, false],
    ['what is younger than 0 s', `${ASKED}&maxAge=0`, false],
    [
      'other passengers',
      ASKED.replace('nonResidents[adults]=1', 'nonResidents[adults]=2&maxAge=600'),
      false,
    ],
    [
      'another residence',
      'flightId=1234&residents[adults]=1&nonResidents[adults]=0&maxAge=600',
      false,
    ],
    ['another return flight', `${ASKED}&returnFlightId=77&maxAge=600`, false],
  ] as const)(
    'a request for %s is answered by the kept answer of 300 s ago, or calls the upstream',
    async ([, query, isKept], { db }) => {
      const { get, asked } = await startFixture(db, HERE)
      await get(ASKED)
      await sql`update verify_result set asked_at = asked_at - interval '300 seconds'`.execute(db)
      const answer = await get(query)
      expect([observedAtOf(answer) !== null, asked.length]).toEqual([isKept, isKept ? 1 : 2])
    },
  )
})
