import { gzipSync } from 'node:zlib'
import { expect, it } from 'vitest'
import { createScrub } from '../../src/platform/base/secrets.ts'
import { answering, json } from './answering-server.ts'
import { CANARY, clientOf } from './client-fixture.ts'
import { aSlot } from './slot-fixture.ts'
import { available, ONE_ADULT, question } from './verify-fixtures.ts'

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

it('a question without a return flight omits its parameter', async () => {
  await using server = await answering(json(BODY))
  await using fixture = clientOf(server.url)

  const { return: back } = await fixture.client.verifyFares(question(), { signal })

  expect(back).toBeNull()
  expect(server.requests[0]).not.toContain('returnFlightId')
})

it('an observation has the evidence of its answer', async () => {
  await using server = await answering(json(gzipSync(BODY), { 'content-encoding': 'gzip' }))
  await using fixture = clientOf(server.url)

  const { evidence } = await fixture.client.verifyFares(question(), { signal })

  expect(evidence).toEqual({
    body: BODY,
    status: 200,
    latencyMs: expect.any(Number),
    requestFingerprint: expect.stringMatching(/^[0-9a-f]{64}$/),
    parserVersion: 6,
  })
  expect(Number.isInteger(evidence.latencyMs)).toBe(true)
  expect(fixture.calls).toMatchObject([
    { endpoint: 'verify', outcome: 'ok', status: 200, bytes: BODY.length },
  ])
})

it.each([
  ['Fri, 31 Jul 2026 10:00:07 GMT', new Date('2026-07-31T10:00:07Z')],
  ['soon', undefined],
  ['', undefined],
  ['0', undefined],
  ['Fri, 01 Jan 20260 00:00:00 GMT', undefined],
])('an observation has the Date of its answer: %s', async (date, datedAt) => {
  await using server = await answering(json(BODY, { date }))
  await using fixture = clientOf(server.url)

  const observation = await fixture.client.verifyFares(question(), { signal })

  expect(observation.datedAt).toEqual(datedAt)
})

it('equal questions have the same fingerprint with any token, and other questions another', async () => {
  await using server = await answering(json(BODY))
  await using first = clientOf(server.url)
  await using second = clientOf(server.url, { accessToken: 'another-token' })
  const children = { ...ONE_ADULT, residents: { ...ONE_ADULT.residents, children: 1 } }
  const print = async ({ client }: typeof first, parts = {}) =>
    (await client.verifyFares(question(parts), { signal })).evidence.requestFingerprint

  const same = [await print(first), await print(second)]
  const others = [
    await print(first, { flightId: '1235' }),
    await print(first, { returnFlightId: '1234' }),
    await print(first, { passengers: children }),
  ]

  expect(new Set(same).size).toBe(1)
  expect(new Set([...same, ...others]).size).toBe(4)
})

it('the evidence is cut at 64 KB of UTF-8, between characters', async () => {
  const long = JSON.stringify(available({ site: { name: '本'.repeat(60_000) } }))
  await using server = await answering(json(long))
  await using fixture = clientOf(server.url)

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
  await using server = await answering(json(body))
  await using fixture = clientOf(server.url, { accessToken: token, scrub: createScrub([token]) })

  const { evidence } = await fixture.client.verifyFares(question(), { signal })

  expect(evidence.body).toMatch(/^\[redacted\] x+ \[redacted\]/)
  expect(evidence.body).not.toContain('plain')
  expect(evidence.body).not.toContain('of-another')
})

it('a short error page is kept whole, and a long one without its unsafe end', async () => {
  const page = { short: 'over capacity', long: `over capacity ${'-'.repeat(20_000)}` }
  await using server = await answering((request, response) => {
    response.writeHead(503)
    response.end(request.url?.includes('flightId=short') ? page.short : page.long)
  })
  await using fixture = clientOf(server.url)
  const ask = async (flightId: string) =>
    (await fixture.client.verifyFares(question({ flightId }), { signal })).evidence

  expect((await ask('short')).body).toBe('over capacity')
  expect((await ask('long')).body).toMatch(/^over capacity -{100,150}…$/)
})

it('a signal that aborts rejects with its reason, and the call is reported', async () => {
  const reason = new Error('gave up')
  const abort = new AbortController()
  await using server = await answering(() => abort.abort(reason))
  await using fixture = clientOf(server.url)

  const call = fixture.client.verifyFares(question(), { signal: abort.signal })
  await expect(call).rejects.toBe(reason)
  const again = fixture.client.verifyFares(question(), { signal: abort.signal })
  await expect(again).rejects.toBe(reason)

  expect(server.requests).toHaveLength(1)
  expect(fixture.calls).toMatchObject([{ outcome: 'aborted' }, { outcome: 'aborted' }])
})

it('a call without a free connection fails and is not sent late', async () => {
  const arrived = Promise.withResolvers<void>()
  const abort = new AbortController()
  await using server = await answering((request, response) => {
    if (request.url?.includes('flightId=slow')) arrived.resolve()
    else json(BODY)(request, response)
  })
  await using fixture = clientOf(server.url, { limits: { maxConnections: 1 } })
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
  expect(server.requests).toHaveLength(2)
})

it('the slot is awaited before each list and not measured, and never before a verify call', async () => {
  const order: string[] = []
  await using server = await answering((request, response) => {
    order.push(request.url?.includes('verify') ? 'verify' : 'list')
    json('[]')(request, response)
  })
  await using fixture = clientOf(server.url, {
    beforeList: async () => {
      order.push('slot')
      return aSlot()
    },
  })

  await fixture.pull()
  await fixture.client.verifyFares(question(), { signal })

  expect(order).toEqual(['slot', 'list', 'verify'])
})

it('a list is not fetched if the wait for its slot fails', async () => {
  const reason = new Error('gave up')
  await using server = await answering(json('[]'))
  await using fixture = clientOf(server.url, { beforeList: () => Promise.reject(reason) })

  await expect(fixture.pull()).rejects.toBe(reason)
  expect(server.requests).toEqual([])
  expect(fixture.calls).toEqual([])
})
