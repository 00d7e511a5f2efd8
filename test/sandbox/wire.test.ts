import { Type } from 'typebox'
import { Value } from 'typebox/value'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { dayOf, flightIdOf } from '../../sandbox/world/flight-schedule.ts'
import type { Route, VerifyResult } from '../../sandbox/world/wire.ts'
import { PortTakenError } from '../../src/platform/http/server.ts'
import { type FaultFixture, prepareFixture } from './faults/fault-fixture.ts'
import { FlightSchema, RouteSchema } from './interface-schema.ts'
import { later, START, sample, startTestSandbox, TOKEN } from './support.ts'

const LISTS = ['routes', 'with-availability', 'csv'] as const
/** Enough real time for a change of the lists. */
const SOON_MS = 75_000

let fixture: FaultFixture

beforeAll(async () => {
  fixture = await prepareFixture({ speed: 60 })
})

afterAll(() => fixture.close())

type Endpoint = Parameters<FaultFixture['request']>[0]

async function ask(endpoint: Endpoint, params: Record<string, string> = {}) {
  const { status, headers, body } = await fixture.request(endpoint, params).done
  const text = body.toString()
  const type = headers['content-type']?.split(';')[0]
  return { status, type, text, body: type === 'application/json' ? JSON.parse(text) : undefined }
}

/** Asks a control endpoint. */
async function control(path: string, { url } = fixture.sandbox) {
  const response = await fetch(`${url}/sandbox/${path}`)
  return { status: response.status, body: (await response.json()) as Record<string, unknown> }
}

it('the lists are arrays of routes in the shape of the interface, and csv has a row for each', async () => {
  for (const list of ['routes', 'with-availability'] as const) {
    const { status, type, body } = await ask(list)
    expect({ status, type }).toEqual({ status: 200, type: 'application/json' })
    expect(body.length).toBeGreaterThan(2000)
    expect(Value.Check(Type.Array(RouteSchema), body)).toBe(true)
  }
  const csv = await ask('csv')
  const [header, first, ...rows] = csv.text.trimEnd().split('\n')
  const { departure, destination } = fixture.routes[0] as Route
  expect(csv).toMatchObject({ status: 200, type: 'text/csv' })
  expect(header).toBe(
    'departure_id,departure_iata,departure_city,departure_country,' +
      'destination_id,destination_iata,destination_city,destination_country',
  )
  expect(first).toBe([departure, destination].map((p) => Object.values(p).join(',')).join(','))
  expect(rows).toHaveLength(fixture.routes.length - 1)
})

it('verify shows each flight under its id, with all its data if it is available', () => {
  const { open, sold, result, flight } = fixture
  expect(result).toEqual({ [open]: { available: true, flight }, [sold]: { available: false } })
  expect(flight.id).toBe(Number(open))
  expect(Value.Check(FlightSchema, flight)).toBe(true)
})

it.each(['nonsense', '1', '101103206549', '__proto__', '99999999999999999999', '🛫'])(
  'verify answers the unknown id %j as not available',
  async (flightId) => {
    const { text } = await ask('verify', { flightId, returnFlightId: '' })
    expect(text).toBe(`{${JSON.stringify(flightId)}:{"available":false}}`)
  },
)

it.each([
  [401, 'unauthorized', { accessToken: '' }],
  [401, 'unauthorized', { accessToken: `${TOKEN}x` }],
  [400, 'invalid_request', { 'nonResidents[adults]': '0' }],
  [400, 'invalid_request', { 'nonResidents[infants]': '3' }],
  [400, 'invalid_request', { 'residents[children]': '13' }],
  [400, 'invalid_request', { flightId: '' }],
])('verify and booking answer %i, %s, to %j', async (status, code, params) => {
  const answers = [await ask('verify', params), await ask('booking', params)]
  expect(answers).toMatchObject(answers.map(() => ({ status, body: { error: { code } } })))
})

it('a booking succeeds with a reference, or fails without a charge when a flight is sold out', async () => {
  const { open, sold, flight } = fixture
  expect(await ask('booking', { returnFlightId: '' })).toMatchObject({
    status: 200,
    body: {
      booked: true,
      reference: expect.stringMatching(/^SANDBOX-[0-9A-Z]{7}$/),
      flights: { [open]: { available: true, flight } },
    },
  })
  expect(await ask('booking')).toMatchObject({
    status: 409,
    body: {
      error: { code: 'no_longer_available' },
      booked: false,
      charged: false,
      flights: { [sold]: { available: false } },
    },
  })
})

it('the log has each request after a number with its question and outcome, and never the token', async () => {
  const { open: flightId, sold: returnFlightId } = fixture
  const { next } = await fixture.logAfter(0)
  await ask('verify', { 'residents[children]': '1' })
  await ask('booking')
  await ask('csv')

  const page = await fixture.logAfter(next)

  const available = { [flightId]: true, [returnFlightId]: false }
  const entry = { realMs: START.getTime(), worldTime: START.toISOString(), fault: null }
  const question = {
    flightId,
    returnFlightId,
    residents: { adults: 0, children: 1, infants: 0 },
    nonResidents: { adults: 2, children: 0, infants: 0 },
  }
  expect(page).toMatchObject({
    entries: [
      { ...entry, endpoint: 'verify', question, outcome: { status: 200, available } },
      { endpoint: 'booking', question: { flightId }, outcome: { status: 409, available } },
      { endpoint: 'csv', outcome: { status: 200 } },
    ],
    next: next + 3,
  })
  expect(JSON.stringify(await fixture.logAfter(0))).not.toContain(TOKEN)
  expect((await control('log?after=-1')).status).toBe(400)
})

it('the control endpoints show the world', async () => {
  const { airports } = fixture.sandbox.world
  expect((await control('world')).body).toEqual({
    seed: 1,
    speed: 60,
    worldTime: START.toISOString(),
    counts: {
      airports: airports.length,
      routes: fixture.routes.length,
      withAvailability: expect.any(Number),
      requests: expect.any(Number),
    },
  })
})

it.each(LISTS)(
  '%s has a version, the same in each world of a seed, until it changes',
  async (list) => {
    const { headers } = await fixture.request(list).done
    const { etag = '', 'last-modified': modified = '' } = headers
    const given = (name: string, value: string) => fixture.request(list, {}, { [name]: value }).done
    const versionOf = async (seed: number) => {
      const other = await prepareFixture({ seed, clock: fixture.clock, speed: 60 })
      const received = await other.request(list).done
      await other.close()
      return received.headers.etag
    }
    expect(etag).toMatch(/^"[\w-]{22}"$/)
    expect(modified).toBe(fixture.clock.now().toUTCString())
    for (const [name, value, status] of [
      ['if-none-match', etag, 304],
      ['if-none-match', '*', 304],
      ['if-none-match', '"other"', 200],
      ['if-none-match', '', 200],
      ['if-modified-since', modified, 304],
    ] as const) {
      const received = await given(name, value)
      const hasBody = received.body.length > 0
      expect([name, value, received.status, hasBody]).toEqual([name, value, status, status === 200])
    }
    if (list === 'routes')
      expect([await versionOf(1), (await versionOf(2)) === etag]).toEqual([etag, false])
    fixture.clock.advance(SOON_MS)
    const [byTag, byDate] = [
      await given('if-none-match', etag),
      await given('if-modified-since', modified),
    ]
    expect([byTag.status, byDate.status]).toEqual([200, 200])
    expect(byTag.headers.etag).not.toBe(etag)
  },
)

const WINDOW = { from: START.toISOString(), to: later(60).toISOString() }

interface Transition {
  readonly at: string
  readonly before: Record<string, unknown>
  readonly after: Record<string, unknown>
}

/** The transitions in the window, each of which must lead from what was to what is. */
async function history(of: string, params: Record<string, string>, sandbox = fixture.sandbox) {
  const { body } = await control(
    `history/${of}?${new URLSearchParams({ ...params, ...WINDOW })}`,
    sandbox,
  )
  const { atFrom, transitions } = body as { atFrom: object; transitions: Transition[] }
  const states = [atFrom, ...transitions.map(({ after }) => after)]
  expect(transitions.map(({ before }) => before)).toEqual(states.slice(0, -1))
  return transitions
}

/** Compares the states around each transition with what a sandbox of its own shows then. */
async function expectShown(
  { clock }: FaultFixture,
  transitions: readonly Transition[],
  show: () => Promise<object>,
): Promise<void> {
  for (const { at, before, after } of transitions) {
    for (const [aheadMs, state] of [
      [1, before],
      [0, after],
    ] as const) {
      clock.advance(Date.parse(at) - aheadMs - clock.now().getTime())
      expect([at, state]).toMatchObject([at, await show()])
    }
  }
}

it('the true history of a fare is what verify shows just before and at each change', async () => {
  const own = await prepareFixture()
  const changes: Transition[] = []
  for (const pair of sample(own.sandbox.world.pairs, 12)) {
    const flightId = flightIdOf({ pair, day: dayOf(START) + 65, number: 0 })
    const transitions = await history('fares', { flightId }, own.sandbox)
    await expectShown(own, transitions, async () => {
      const { body } = await own.request('verify', { flightId, returnFlightId: '' }).done
      const entry = (JSON.parse(body.toString()) as VerifyResult)[flightId]
      if (!entry?.available) return { available: false }
      const { adult } = entry.flight.price.nonResidents
      return { available: true, adultCents: Math.round(100 * Number(adult)) }
    })
    changes.push(...transitions)
  }
  await own.close()
  expect(changes.filter(({ after }) => !after.available).length).toBeGreaterThan(5)
})

it('the true history of a route is what the lists show just before and at each change', async () => {
  const own = await prepareFixture()
  const changes: Transition[] = []
  const changing = own.sandbox.world.pairs.filter(({ pattern }) => pattern.kind !== 'all-year')
  for (const { from, to } of sample(changing, 6)) {
    const ends = { departure: String(from.id), destination: String(to.id) }
    const isIn = async (list: 'routes' | 'with-availability') => {
      const routes = JSON.parse((await own.request(list).done).body.toString()) as Route[]
      return routes.some(
        (one) => one.departure.id === ends.departure && one.destination.id === ends.destination,
      )
    }
    const transitions = await history('routes', ends, own.sandbox)
    await expectShown(own, transitions, async () => {
      return { live: await isIn('routes'), available: await isIn('with-availability') }
    })
    changes.push(...transitions)
  }
  await own.close()
  expect(changes.filter(({ after }) => !after.live)).not.toEqual([])
})

it.each([
  [400, 'fares', WINDOW, 'flightId is required'],
  [400, 'fares', { flightId: '101103206540' }, 'from is required'],
  [400, 'fares', { flightId: '101103206540', from: '2026-01-01' }, 'from must be an instant'],
  [
    400,
    'fares',
    { flightId: '101103206540', from: WINDOW.to, to: WINDOW.from },
    'must not be after',
  ],
  [
    400,
    'fares',
    { flightId: '101103206540', ...WINDOW, to: '2030-01-01T00:00:00Z' },
    'at most 400 days',
  ],
  [400, 'routes', { departure: '101', ...WINDOW }, 'destination is required'],
  [404, 'fares', { flightId: 'nonsense', ...WINDOW }, ''],
  [404, 'routes', { departure: '101', destination: '101', ...WINDOW }, ''],
])(
  'it answers %i to a question about the history of %s with %j',
  async (status, of, params, title) => {
    const answer = await control(`history/${of}?${new URLSearchParams(params)}`)
    expect(answer).toMatchObject({ status, body: { title: expect.stringContaining(title) } })
  },
)

it('the sandbox does not start on a taken port, and names the flag', async () => {
  const start = startTestSandbox({ port: Number(new URL(fixture.sandbox.url).port) })
  await expect(start).rejects.toThrow(PortTakenError)
  await expect(start).rejects.toThrow(/--port/)
})
