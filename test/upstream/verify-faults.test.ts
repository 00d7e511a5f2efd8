import { expect, it } from 'vitest'
import type { Observation } from '../../src/upstream/observation.ts'
import { freePort } from '../support/redis-tier.ts'
import { answering, json } from './answering-server.ts'
import { type ClientFixture, clientOf } from './client-fixture.ts'
import { question } from './verify-fixtures.ts'

const UNAVAILABLE = JSON.stringify({ 1234: { available: false } })
const { signal } = new AbortController()

function verify({ client }: ClientFixture): Promise<Observation> {
  return client.verifyFares(question({ returnFlightId: '99' }), { signal })
}

it('a redirect target never receives the credential', async () => {
  await using target = await answering(json(UNAVAILABLE))
  await using server = await answering((request, response) => {
    response.writeHead(307, { location: `${target.url}${request.url}` })
    response.end()
  })
  await using fixture = clientOf(server.url)

  const observation = await verify(fixture)

  expect(observation.outbound).toEqual({ kind: 'unknown', reason: 'contract_violation' })
  expect(target.requests).toEqual([])
})

it.each([
  ['120', 120_000],
  ['1e9', 900_000],
  ['soon', undefined],
  [undefined, undefined],
])('an observation has the wait that a 429 asks for: %s', async (wait, expected) => {
  await using server = await answering((_request, response) => {
    response.writeHead(429, wait === undefined ? {} : { 'retry-after': wait })
    response.end()
  })
  await using fixture = clientOf(server.url)

  expect((await verify(fixture)).retryAfterMs).toBe(expected)
})

it('a fare is unknown if no server listens', async () => {
  await using fixture = clientOf(`http://127.0.0.1:${await freePort()}`)

  const observation = await verify(fixture)

  expect(observation).toMatchObject({
    outbound: { kind: 'unknown', reason: 'network' },
    evidence: { status: null, body: null },
  })
  expect(observation.detail).toContain('ECONNREFUSED')
})
