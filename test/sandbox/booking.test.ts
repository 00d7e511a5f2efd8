import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { type Ground, prepareGround } from './faults/ground.ts'
import { ask } from './raw-client.ts'

let ground: Ground
beforeAll(async () => {
  ground = await prepareGround()
})
afterEach(() => ground.sandbox.setFaults([]))
afterAll(() => ground.close())

async function book(params: Record<string, string>) {
  const heard = await ground.ask('booking', params).done
  return { status: heard.status, body: JSON.parse(heard.body.toString()) as unknown }
}

async function lastLogged() {
  return (await ground.logAfter(0)).entries.at(-1)
}

it('books a flight that verify calls available, under a made-up reference', async () => {
  const { status, body } = await book({ returnFlightId: '' })

  expect(status).toBe(200)
  expect(body).toEqual({
    booked: true,
    reference: expect.stringMatching(/^SANDBOX-[0-9A-Z]{7}$/),
    flights: { [ground.open]: { available: true, flight: ground.flight } },
  })
  expect(await lastLogged()).toMatchObject({
    endpoint: 'booking',
    question: { flightId: ground.open },
    outcome: { status: 200, available: { [ground.open]: true } },
    fault: null,
  })
})

it('fails without a charge when one of the seats is gone', async () => {
  const { status, body } = await book({})

  expect(status).toBe(409)
  expect(body).toMatchObject({
    error: { code: 'no_longer_available' },
    booked: false,
    charged: false,
    flights: { [ground.sold]: { available: false } },
  })
  expect((await lastLogged())?.outcome).toEqual({
    status: 409,
    available: { [ground.open]: true, [ground.sold]: false },
  })
})

it.each([
  [401, { accessToken: 'wrong' }],
  [400, { 'nonResidents[adults]': '0' }],
  [400, { flightId: '' }],
])('refuses with %i what verify refuses', async (status, params) => {
  expect(await book(params)).toMatchObject({ status, body: { error: {} } })
})

it('throws a body of any type away unread', async () => {
  const query = 'flightId=1&residents[adults]=1&nonResidents[adults]=0&accessToken=wrong'
  for (const type of ['application/json', 'text/plain', 'image/png']) {
    const response = await fetch(`${ground.sandbox.url}/api/v1/flights/fares/book?${query}`, {
      method: 'POST',
      headers: { 'content-type': type },
      body: '4111 1111 1111 1111',
    })

    expect(response.status).toBe(401)
  }
  expect(JSON.stringify(await ground.logAfter(0))).not.toContain('4111')
})

it('is no GET', async () => {
  const heard = await ask(`${ground.sandbox.url}/api/v1/flights/fares/book`).done

  expect(heard.status).toBe(404)
})

it('meets faults of the wire as the others do', async () => {
  ground.sandbox.setFaults([{ name: 'rate-limited', endpoint: 'booking' }])

  expect(await book({})).toMatchObject({ status: 429 })
  expect((await ground.ask('verify').done).status).toBe(200)
})
