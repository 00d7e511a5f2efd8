import { expect, it } from 'vitest'
import type { Observation } from '../../src/upstream/observation.ts'
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
