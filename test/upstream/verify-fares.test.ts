import { expect, it } from 'vitest'
import { createScrub } from '../../src/platform/base/secrets.ts'
import { answering, json } from './answering-server.ts'
import { CANARY, clientFor, clientOf } from './client-fixture.ts'
import { aSlot } from './slot-fixture.ts'
import { available, question } from './verify-fixtures.ts'

const { signal } = new AbortController()
const BODY = JSON.stringify(available())

it('a verify call has each parameter of the interface once', async () => {
  await using server = await answering(json(BODY))
  await using fixture = clientOf(`${server.url}/fares`)
  const passengers = {
    residents: { adults: 1, children: 2, infants: 0 },
    nonResidents: { adults: 3, children: 4, infants: 2 },
  }

  await fixture.client.verifyFares(
    question({ flightId: 'a&b=c/é', returnFlightId: '99', passengers }),
    { signal },
  )

  const sent = new URL(server.requests[0] ?? '', server.url)
  expect(sent.pathname).toBe('/fares/api/v1/flights/fares/verify')
  expect([...sent.searchParams]).toEqual([
    ['flightId', 'a&b=c/é'],
    ['returnFlightId', '99'],
    ['residents[adults]', '1'],
    ['residents[children]', '2'],
    ['residents[infants]', '0'],
    ['nonResidents[adults]', '3'],
    ['nonResidents[children]', '4'],
    ['nonResidents[infants]', '2'],
    ['accessToken', CANARY],
  ])
})

it.each([
  ['Fri, 31 Jul 2026 10:00:07 GMT', new Date('2026-07-31T10:00:07Z')],
  ['soon', undefined],
  ['', undefined],
  ['0', undefined],
  ['Fri, 01 Jan 20260 00:00:00 GMT', undefined],
])('an observation has the Date of its answer: %s', async (date, datedAt) => {
  await using fixture = await clientFor(json(BODY, { date }))

  const observation = await fixture.client.verifyFares(question(), { signal })

  expect(observation.datedAt).toEqual(datedAt)
})

it('the evidence is cut at 64 KB of UTF-8, between characters', async () => {
  const long = JSON.stringify(available({ site: { name: '本'.repeat(60_000) } }))
  await using fixture = await clientFor(json(long))

  const { evidence, outbound } = await fixture.client.verifyFares(question(), { signal })

  const bytes = Buffer.byteLength(evidence.body ?? '')
  expect(outbound.kind).toBe('available')
  expect(bytes).toBeLessThanOrEqual(65_536)
  expect(bytes).toBeGreaterThan(65_530)
  expect(long.startsWith(evidence.body ?? '-')).toBe(true)
})

it('the evidence is scrubbed before it is cut, including secrets with NUL', async () => {
  const token = 'plain-token-0123456789'
  const pad = 'x'.repeat(65_536 - 60)
  const body = `plain-\u0000token-0123456789 ${pad} ${token}${token} accessToken=of-another-client`
  await using fixture = await clientFor(json(body), {
    accessToken: token,
    scrub: createScrub([token]),
  })

  const { evidence } = await fixture.client.verifyFares(question(), { signal })

  expect(evidence.body).toMatch(/^\[redacted\] x+ \[redacted\]/)
  expect(evidence.body).not.toContain('plain')
  expect(evidence.body).not.toContain('of-another')
})

it('a call without a free connection fails and is not sent late', async () => {
  const arrived = Promise.withResolvers<void>()
  const abort = new AbortController()
  await using fixture = await clientFor(
    (request, response) => {
      if (request.url?.includes('flightId=slow')) arrived.resolve()
      else json(BODY)(request, response)
    },
    { limits: { maxConnections: 1 } },
  )
  const slow = question({ flightId: 'slow' })
  const first = fixture.client.verifyFares(slow, { signal: abort.signal }).catch(() => undefined)
  await arrived.promise

  const refused = await fixture.client.verifyFares(question(), { signal })
  abort.abort()
  await first
  const taken = await fixture.client.verifyFares(question(), { signal })

  expect(refused.outbound).toEqual({ kind: 'unknown', reason: 'network' })
  expect(refused.detail).toContain('NO_FREE_CONNECTION')
  expect(taken.outbound.kind).toBe('available')
  expect(fixture.requests).toHaveLength(2)
})

it('the slot is awaited before each list and not measured, and never before a verify call', async () => {
  const order: string[] = []
  await using fixture = await clientFor(
    (request, response) => {
      order.push(request.url?.includes('verify') ? 'verify' : 'list')
      json('[]')(request, response)
    },
    {
      beforeList: async () => {
        order.push('slot')
        return aSlot()
      },
    },
  )

  await fixture.pull()
  await fixture.client.verifyFares(question(), { signal })

  expect(order).toEqual(['slot', 'list', 'verify'])
})
