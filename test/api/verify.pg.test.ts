import { describe, expect } from 'vitest'
import { sql } from '../../src/platform/db/database.ts'
import { listApiKeys, revokeApiKey } from '../../src/resellers/api-keys.ts'
import { kinds, passSeconds, trackFare } from '../fares/fare-fixtures.ts'
import { flightFor } from '../fares/verify-server.ts'
import { it } from '../support/test-database.ts'
import { until } from '../support/until.ts'
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

it('a request that breaks a rule gets a problem that names it, and makes no call', async ({
  db,
}) => {
  const { get, asked } = await startFixture(db)
  const noAdult = 'there must be at least one adult'
  const children = 'residents[children] must be a whole number from 0 to 12'

  for (const [mix, parameter, detail] of [
    ['residents[adults]=0&nonResidents[adults]=0', null, noAdult],
    ['residents[adults]=x&nonResidents[adults]=0', null, noAdult],
    [`${ONE_ADULT}&residents[infants]=2`, null, 'infants must not outnumber adults'],
    [`${ONE_ADULT}&residents[children]=13`, 'residents[children]', children],
    [`${ONE_ADULT}&residents[children]=-1`, 'residents[children]', children],
    [`${ONE_ADULT}&residents[children]=1.5`, 'residents[children]', children],
  ] as const) {
    const { status, body } = await get(`flightId=1&${mix}`)

    expect(status, mix).toBe(400)
    expect(body, mix).toMatchObject({
      code: 'verify.passenger_rule',
      detail: expect.stringContaining(detail),
    })
    expect(body.parameter ?? null, mix).toBe(parameter)
  }
  for (const [query, parameter] of [
    [ONE_ADULT, 'flightId'],
    [`flightId=%20&${ONE_ADULT}`, 'flightId'],
    [`flightId=${'9'.repeat(201)}&${ONE_ADULT}`, 'flightId'],
    [`flightId=1&returnFlightId=&${ONE_ADULT}`, 'returnFlightId'],
    ['flightId=1&residents[adults]=1', 'nonResidents[adults]'],
    ['flightId=1&nonResidents[adults]=1', 'residents[adults]'],
    [`flightId=1&${ONE_ADULT}&maxAge=-1`, 'maxAge'],
    [`flightId=1&${ONE_ADULT}&maxAge=601`, 'maxAge'],
    [`flightId=1&${ONE_ADULT}&maxAge=soon`, 'maxAge'],
  ] as const) {
    const { status, body } = await get(query)

    expect(status, query).toBe(400)
    expect(body, query).toMatchObject({ code: 'request.invalid_parameter', parameter })
  }
  expect(asked).toEqual([])
})

it('counts that are not numbers are ignored and named, like unknown parameters', async ({ db }) => {
  const { get, asked } = await startFixture(db)
  const mix =
    'residents[adults]=two&nonResidents[adults]=%2B2&residents[children]=&nonResidents[infants]=1e1'

  const { status, headers } = await get(`flightId=1234&${mix}&currency=EUR`)

  expect(status).toBe(200)
  expect(headers.get('farewatch-ignored')?.split(', ').map(decodeURIComponent)).toEqual([
    'currency',
    'residents[adults]',
    'residents[children]',
    'nonResidents[infants]',
  ])
  expect(asked[0]).toMatch(/residents%5Badults%5D=0&.*nonResidents%5Badults%5D=2&/)
})

it('a key that is revoked while the upstream is called gets a 401', async ({ db }) => {
  const asked = Promise.withResolvers<void>()
  const released = Promise.withResolvers<void>()
  const { get } = await startFixture(db, (request, response) => {
    asked.resolve()
    void released.promise.then(() => GONE(request, response))
  })
  const waiting = get(`flightId=1234&${ONE_ADULT}`)
  await asked.promise

  const [key] = await listApiKeys(db)
  await revokeApiKey(db, key?.id ?? 0)
  await until('the revocation', async () => (await get('flightId=')).status === 401)
  released.resolve()

  expect(await waiting).toMatchObject({ status: 401, body: { code: 'access.unknown_key' } })
})

describe('an unknown availability', () => {
  it.for([
    ['a 500', (_, response) => response.writeHead(500).end('oops'), 'http_5xx'],
    ['a page', (_, response) => response.end('<html>maintenance</html>'), 'malformed'],
    ['no entry for the return flight', json('{"1234":{"available":false}}'), 'id_missing'],
    ['true without a flight', json('{"1234":{"available":true}}'), 'contract_violation'],
    ['a rejection of our credential', (_, response) => response.writeHead(401).end(), 'auth'],
    ['no answer in time', () => undefined, 'timeout'],
    ['a closed connection', ({ socket }) => socket.destroy(), 'network'],
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
      expect(text).not.toMatch(/available|maintenance|oops/)
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

  it('a tracked fare with another question records nothing', async ({ db }) => {
    const fareId = await trackFare(db, { flightId: '1234' })
    const { get } = await startFixture(db)

    await get('flightId=1234&residents[adults]=0&nonResidents[adults]=2')
    await get(`flightId=1234&returnFlightId=1234&${ONE_ADULT}`)

    expect(await kinds(db, fareId)).toEqual([])
    expect((await sql`select from fare_state`.execute(db)).rows).toEqual([])
  })
})
