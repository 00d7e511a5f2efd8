import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Sandbox } from '../../sandbox/sandbox-server.ts'
import { fareStateAt } from '../../sandbox/world/fare-life.ts'
import { dayOf, findFlight, flightIdOf } from '../../sandbox/world/flight-schedule.ts'
import { START, sample, startTestSandbox, TOKEN } from '../sandbox/support.ts'
import { type ClientFixture, clientOf } from './client-fixture.ts'
import { question } from './verify-fixtures.ts'

const FAMILY = {
  residents: { adults: 1, children: 2, infants: 1 },
  nonResidents: { adults: 2, children: 1, infants: 0 },
}
const { signal } = new AbortController()
let sandbox: Sandbox
let fixture: ClientFixture

beforeAll(async () => {
  sandbox = await startTestSandbox()
  fixture = clientOf(sandbox.url, { accessToken: TOKEN, scrub: (text) => text })
})

afterAll(async () => {
  await fixture.client.close()
  await sandbox.close()
})

/** Flights of the sandbox's world, and whether each is available. */
function flightsOfWorld() {
  const ids = sample(sandbox.world.pairs, 150).map((pair, index) =>
    flightIdOf({ pair, day: dayOf(START) + 3 + (index % 40), number: 0 }),
  )
  return ids.flatMap((id) => {
    const found = findFlight(sandbox.world, id)
    return found === undefined ? [] : [{ id, state: fareStateAt(found, START.getTime()) }]
  })
}

it('every flight of the sandbox is read correctly and without an anomaly', async () => {
  const flights = flightsOfWorld()
  const kinds = new Set<string>()

  for (const { id, state } of flights) {
    const answer = await fixture.client.verifyFares(
      question({ flightId: id, passengers: FAMILY }),
      { signal },
    )

    kinds.add(answer.outbound.kind)
    expect(answer.anomalies).toEqual([])
    expect(answer.outbound.kind).toBe(state.available ? 'available' : 'unavailable')
  }
  expect(kinds).toEqual(new Set(['available', 'unavailable']))
})

it('the price and the times of the sandbox are read', async () => {
  const open = flightsOfWorld().find(({ state }) => state.available)
  if (!open?.state.available) throw new Error('no flight of the sandbox is available')

  const { outbound } = await fixture.client.verifyFares(question({ flightId: open.id }), { signal })

  const amount = (Math.round(open.state.adultCents) / 100).toFixed(2)
  expect(outbound).toMatchObject({
    kind: 'available',
    flight: { price: { amount, currency: 'EUR' } },
  })
})
