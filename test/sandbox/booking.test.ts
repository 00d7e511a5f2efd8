import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { type FaultFixture, prepareFixture } from './faults/fault-fixture.ts'

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
