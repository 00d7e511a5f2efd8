import { Type } from 'typebox'
import { Value } from 'typebox/value'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { LoggedRequest } from '../../sandbox/operations/request-log.ts'
import type { Sandbox } from '../../sandbox/sandbox-server.ts'
import { fareStateAt } from '../../sandbox/world/fare-life.ts'
import { dayOf, findFlight, flightIdOf } from '../../sandbox/world/flight-schedule.ts'
import type { Route, VerifyResult } from '../../sandbox/world/wire.ts'
import { FlightSchema, RouteSchema } from './interface-schema.ts'
import { type ManualClock, manualClock, START, startTestSandbox, TOKEN } from './support.ts'

const START_OF_WORLD = new Date('2026-05-01T00:00:00Z')

let sandbox: Sandbox
let clock: ManualClock
beforeAll(async () => {
  clock = manualClock(START)
  sandbox = await startTestSandbox({ clock, speed: 60, worldStart: START_OF_WORLD })
})
afterAll(() => sandbox.close())

/** Flights of the first days of the world, some available and some not. */
function idsThatAre(available: boolean): string[] {
  return sandbox.world.pairs
    .map((pair) => flightIdOf({ pair, day: dayOf(START_OF_WORLD) + 20, number: 0 }))
    .filter((id) => {
      const flight = findFlight(sandbox.world, id)
      return flight && fareStateAt(flight, START_OF_WORLD.getTime()).available === available
    })
}

function verify(params: Record<string, string>, token: string | null = TOKEN): Promise<Response> {
  const query = new URLSearchParams({
    'residents[adults]': '0',
    'nonResidents[adults]': '1',
    ...params,
    ...(token === null ? {} : { accessToken: token }),
  })
  return fetch(`${sandbox.url}/api/v1/flights/fares/verify?${query}`)
}

async function lastLogged(): Promise<LoggedRequest> {
  const response = await fetch(`${sandbox.url}/sandbox/log`)
  const { entries } = (await response.json()) as { entries: LoggedRequest[] }
  const last = entries.at(-1)
  if (!last) throw new Error('the log is empty')
  return last
}

describe('the route lists', () => {
  it.each(['', '/with-availability'])('answer routes%s as an array of routes', async (path) => {
    const response = await fetch(`${sandbox.url}/api/v1/data/routes${path}`)
    const body = await response.text()

    expect(response.status).toBe(200)
    expect(response.headers.get('content-type')).toMatch(/^application\/json/)
    expect(Number(response.headers.get('content-length'))).toBe(Buffer.byteLength(body))
    const routes = JSON.parse(body) as Route[]
    expect(routes.length).toBeGreaterThan(2000)
    expect(Value.Check(Type.Array(RouteSchema), routes)).toBe(true)
  })

  it('answer csv with a header and one row for each route', async () => {
    const [csv, json] = await Promise.all(
      ['/csv', ''].map((path) => fetch(`${sandbox.url}/api/v1/data/routes${path}`)),
    )
    const routes = (await json?.json()) as Route[]
    const [header, ...rows] = ((await csv?.text()) ?? '').trimEnd().split('\n')
    const { departure, destination } = routes[0] as Route

    expect(csv?.headers.get('content-type')).toMatch(/^text\/csv/)
    expect(header).toBe(
      'departure_id,departure_iata,departure_city,departure_country,' +
        'destination_id,destination_iata,destination_city,destination_country',
    )
    expect(rows.length).toBe(routes.length)
    expect(rows[0]).toBe([departure, destination].map((p) => Object.values(p).join(',')).join(','))
  })
})

describe('verify', () => {
  it('returns each requested flight under its id, with all its data if it is available', async () => {
    const [flightId = '', returnFlightId = ''] = [idsThatAre(true)[0], idsThatAre(false)[0]]

    const response = await verify({ flightId, returnFlightId })
    const result = (await response.json()) as VerifyResult

    expect(response.status).toBe(200)
    expect(response.headers.get('content-type')).toMatch(/^application\/json/)
    expect(result).toEqual({
      [flightId]: { available: true, flight: expect.objectContaining({ id: Number(flightId) }) },
      [returnFlightId]: { available: false },
    })
  })

  it('shows flights in exactly the shape of the interface', async () => {
    for (const flightId of idsThatAre(true).filter((_, index) => index % 100 === 0)) {
      const response = await verify({
        flightId,
        'residents[adults]': '1',
        'residents[infants]': '1',
      })
      const result = (await response.json()) as VerifyResult
      const entry = result[flightId]

      expect(Value.Check(FlightSchema, entry?.available && entry.flight)).toBe(true)
    }
  })

  it.each(['nonsense', '1', '101103206549', '__proto__', '99999999999999999999', '🛫'])(
    'answers the unknown id %j as not available',
    async (flightId) => {
      const response = await verify({ flightId })

      expect(await response.text()).toBe(`{${JSON.stringify(flightId)}:{"available":false}}`)
    },
  )

  it.each([
    ['a missing token', null],
    ['an empty token', ''],
    ['a wrong token', `${TOKEN}x`],
  ])('answers %s with 401 and JSON', async (_what, token) => {
    const response = await verify({ flightId: '1' }, token)

    expect(response.status).toBe(401)
    expect(await response.json()).toHaveProperty('error.code', 'unauthorized')
  })

  it.each([
    ['no adult', { flightId: '1', 'nonResidents[adults]': '0' }],
    ['more infants than adults', { flightId: '1', 'residents[infants]': '2' }],
    ['thirteen children', { flightId: '1', 'residents[children]': '13' }],
    ['no flight', { flightId: '' }],
    ['an empty return flight', { flightId: '1', returnFlightId: '' }],
  ])('answers %s with 400 and JSON', async (_what, params: Record<string, string>) => {
    const response = await verify(params)

    expect(response.status).toBe(400)
    expect(await response.json()).toMatchObject({ error: { code: 'invalid_request' } })
  })
})

describe('the control endpoints', () => {
  it('show the world', async () => {
    const response = await fetch(`${sandbox.url}/sandbox/world`)

    expect(await response.json()).toEqual({
      seed: 1,
      speed: 60,
      worldTime: START_OF_WORLD.toISOString(),
      counts: {
        airports: sandbox.world.airports.length,
        routes: expect.any(Number),
        withAvailability: expect.any(Number),
        requests: expect.any(Number),
      },
    })
  })

  it('log each request with its question and outcome, and never the token', async () => {
    const flightId = idsThatAre(true)[0] ?? ''
    await verify({ flightId, returnFlightId: 'x', 'residents[children]': '2' })

    const logged = await lastLogged()

    expect(logged).toEqual({
      seq: expect.any(Number),
      realMs: START.getTime(),
      worldTime: START_OF_WORLD.toISOString(),
      endpoint: 'verify',
      question: expect.objectContaining({
        flightId,
        returnFlightId: 'x',
        residents: { adults: 0, children: 2, infants: 0 },
        nonResidents: { adults: 1, children: 0, infants: 0 },
      }),
      outcome: { status: 200, available: { [flightId]: true, x: false } },
      fault: null,
    })
    const whole = await fetch(`${sandbox.url}/sandbox/log`)
    expect(await whole.text()).not.toContain(TOKEN)
  })

  it('return the log after a number and reject a value that is not a number', async () => {
    const { seq } = await lastLogged()
    await fetch(`${sandbox.url}/api/v1/data/routes/csv`)

    const page = await fetch(`${sandbox.url}/sandbox/log?after=${seq}`)
    const wrong = await fetch(`${sandbox.url}/sandbox/log?after=-1`)

    expect(await page.json()).toMatchObject({
      entries: [{ seq: seq + 1, endpoint: 'csv' }],
      next: seq + 1,
    })
    expect(wrong.status).toBe(400)
  })
})
