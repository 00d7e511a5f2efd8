import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Sandbox } from '../../sandbox/sandbox-server.ts'
import { fareHistory } from '../../sandbox/world/fare-life.ts'
import { dayOf, flightIdOf } from '../../sandbox/world/flight-schedule.ts'
import { routeHistory } from '../../sandbox/world/route-life.ts'
import { later, START, startTestSandbox } from './support.ts'

const WINDOW = { from: START, to: later(60) }

let sandbox: Sandbox
beforeAll(async () => {
  sandbox = await startTestSandbox()
})
afterAll(() => sandbox.close())

async function history(of: string, params: Record<string, string>, url = sandbox.url) {
  const response = await fetch(`${url}/sandbox/history/${of}?${new URLSearchParams(params)}`)
  return { status: response.status, body: (await response.json()) as Record<string, unknown> }
}

const iso = { from: WINDOW.from.toISOString(), to: WINDOW.to.toISOString() }

function asJson(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value))
}

describe('the true history', () => {
  it('of a fare is that of the world', async () => {
    const flightId = sandbox.world.pairs
      .map((pair) => flightIdOf({ pair, day: dayOf(WINDOW.to) + 5, number: 0 }))
      .find((id) => fareHistory(sandbox.world, id, WINDOW).length > 5)

    const { status, body } = await history('fares', { flightId: flightId ?? '', ...iso })

    const transitions = fareHistory(sandbox.world, flightId ?? '', WINDOW)
    expect(status).toBe(200)
    expect(body).toEqual({
      flightId,
      ...iso,
      atFrom: asJson(transitions[0]?.before),
      transitions: asJson(transitions),
    })
  })

  it('of a route is that of the world', async () => {
    const ends = sandbox.world.pairs
      .map(({ from, to }) => ({ departureId: String(from.id), destinationId: String(to.id) }))
      .find((pair) => routeHistory(sandbox.world, pair, WINDOW).length > 1)
    const { departureId = '', destinationId = '' } = ends ?? {}

    const params = { departure: departureId, destination: destinationId, ...iso }
    const { body } = await history('routes', params)

    const transitions = routeHistory(sandbox.world, { departureId, destinationId }, WINDOW)
    expect(body).toMatchObject({
      atFrom: transitions[0]?.before,
      transitions: asJson(transitions),
    })
  })

  it.each([
    ['fares', { ...iso }, /flightId is required/],
    ['fares', { flightId: '101103206540' }, /from is required/],
    ['fares', { flightId: '101103206540', from: '2026-01-01' }, /from must be an instant/],
    ['fares', { flightId: '101103206540', ...iso, to: '2026-13-01T00:00:00Z' }, /to must be an/],
    ['fares', { flightId: '101103206540', from: iso.to, to: iso.from }, /must not be after/],
    ['fares', { flightId: '101103206540', ...iso, to: '2030-01-01T00:00:00Z' }, /at most 400 days/],
    ['routes', { departure: '101', ...iso }, /destination is required/],
  ])('of %s with %j is refused', async (of, params, title) => {
    const { status, body } = await history(of, params as Record<string, string>)

    expect(status).toBe(400)
    expect(body.title).toMatch(title)
  })

  it.each([
    ['fares', { flightId: 'nonsense', ...iso }],
    ['routes', { departure: '101', destination: '101', ...iso }],
  ])('of %s that do not exist is a 404', async (of, params) => {
    expect((await history(of, params as Record<string, string>)).status).toBe(404)
  })
})
