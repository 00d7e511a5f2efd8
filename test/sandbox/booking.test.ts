import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { type FaultFixture, prepareFixture } from './faults/fault-fixture.ts'
import { sendRequest } from './raw-client.ts'

let fixture: FaultFixture
beforeAll(async () => {
  fixture = await prepareFixture()
})
afterEach(() => fixture.sandbox.setFaults([]))
afterAll(() => fixture.close())

async function book(params: Record<string, string>) {
  const received = await fixture.request('booking', params).done
  return { status: received.status, body: JSON.parse(received.body.toString()) as unknown }
}

async function lastLogged() {
  return (await fixture.logAfter(0)).entries.at(-1)
}

it('a booking of an available flight succeeds with a reference', async () => {
  const { status, body } = await book({ returnFlightId: '' })

  expect(status).toBe(200)
  expect(body).toEqual({
    booked: true,
    reference: expect.stringMatching(/^SANDBOX-[0-9A-Z]{7}$/),
    flights: { [fixture.open]: { available: true, flight: fixture.flight } },
  })
  expect(await lastLogged()).toMatchObject({
    endpoint: 'booking',
    question: { flightId: fixture.open },
    outcome: { status: 200, available: { [fixture.open]: true } },
    fault: null,
  })
})

it('a booking fails without a charge when one of the flights is sold out', async () => {
  const { status, body } = await book({})

  expect(status).toBe(409)
  expect(body).toMatchObject({
    error: { code: 'no_longer_available' },
    booked: false,
    charged: false,
    flights: { [fixture.sold]: { available: false } },
  })
  expect((await lastLogged())?.outcome).toEqual({
    status: 409,
    available: { [fixture.open]: true, [fixture.sold]: false },
  })
})

it.each([
  [401, { accessToken: 'wrong' }],
  [400, { 'nonResidents[adults]': '0' }],
  [400, { flightId: '' }],
])('a booking answers %i where verify does', async (status, params) => {
  expect(await book(params)).toMatchObject({ status, body: { error: {} } })
})

it('a booking discards a body of any type', async () => {
  const query = 'flightId=1&residents[adults]=1&nonResidents[adults]=0&accessToken=wrong'
  for (const type of ['application/json', 'text/plain', 'image/png']) {
    const response = await fetch(`${fixture.sandbox.url}/api/v1/flights/fares/book?${query}`, {
      method: 'POST',
      headers: { 'content-type': type },
      body: '4111 1111 1111 1111',
    })

    expect(response.status).toBe(401)
  }
  expect(JSON.stringify(await fixture.logAfter(0))).not.toContain('4111')
})

it('a booking with GET is not found', async () => {
  const received = await sendRequest(`${fixture.sandbox.url}/api/v1/flights/fares/book`).done

  expect(received.status).toBe(404)
})

it('a booking has the connection faults of the other endpoints', async () => {
  fixture.sandbox.setFaults([{ name: 'rate-limited', endpoint: 'booking' }])

  expect(await book({})).toMatchObject({ status: 429 })
  expect((await fixture.request('verify').done).status).toBe(200)
})
