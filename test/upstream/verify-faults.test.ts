import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { inspect } from 'node:util'
import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import type { UnknownReason } from '../../src/platform/base/kinds.ts'
import { createScrub } from '../../src/platform/base/secrets.ts'
import type { Observation } from '../../src/upstream/observation.ts'
import type { UpstreamLimits } from '../../src/upstream/upstream-limits.ts'
import { type Answer, answering, json } from './answering-server.ts'
import { CANARY, type ClientFixture, clientOf } from './client-fixture.ts'
import { LIST_FAULTS } from './list-faults.ts'
import { available, question } from './verify-fixtures.ts'

/** The error codes for lists, and the reasons for a fare with the same answers. */
const REASONS_BY_CODE: Readonly<Record<string, readonly UnknownReason[]>> = {
  'upstream.timeout': ['timeout'],
  'upstream.network': ['network'],
  'upstream.http_4xx': ['http_4xx'],
  'upstream.http_5xx': ['http_5xx'],
  'upstream.rate_limited': ['rate_limited'],
  'upstream.auth': ['auth'],
  'upstream.redirect': ['contract_violation'],
  'upstream.too_large': ['malformed'],
  'upstream.contract_violation': ['malformed', 'contract_violation', 'id_missing'],
}

const UNAVAILABLE = JSON.stringify({ 1234: { available: false } })
const GZIP = { 'content-encoding': 'gzip' }
const { signal } = new AbortController()

function verify({ client }: ClientFixture): Promise<Observation> {
  return client.verifyFares(question({ returnFlightId: '99' }), { signal })
}

function expectNoCanary(fixture: ClientFixture, observation: Observation): void {
  const shown = inspect(observation, { depth: Infinity, showHidden: true, maxStringLength: null })
  const calls = JSON.stringify(fixture.calls)
  const text = [JSON.stringify(observation), shown, calls, ...fixture.logLines].join('\n')
  expect(createScrub([CANARY])(text)).toBe(text)
  expect(text).not.toContain('CANARY')
}

function limitsOf(limits: Partial<UpstreamLimits> = {}): Partial<UpstreamLimits> {
  const { listDeadlineMs, maxBodyBytes } = limits
  return {
    ...(listDeadlineMs === undefined ? {} : { verifyDeadlineMs: listDeadlineMs }),
    ...(maxBodyBytes === undefined ? {} : { maxVerifyBytes: maxBodyBytes }),
  }
}

describe.each(LIST_FAULTS)('a verify call that receives $name', ({ answer, limits, code }) => {
  it(`is unknown by the reason that belongs to ${code}`, async () => {
    await using server = await answering(answer)
    await using fixture = clientOf(server.url, { limits: limitsOf(limits) })

    const observation = await verify(fixture)

    const { outbound, return: back, detail } = observation
    expect(outbound.kind).toBe('unknown')
    expect(REASONS_BY_CODE[code]).toContain(outbound.kind === 'unknown' && outbound.reason)
    expect(back).toEqual(outbound)
    expect(detail).not.toBe('')
    expect(detail).not.toContain('http://')
    expect(server.requests).toHaveLength(1)
    expect(fixture.calls).toMatchObject([{ endpoint: 'verify' }])
    expect(fixture.calls[0]?.outcome).toMatch(/^upstream\./)
    expectNoCanary(fixture, observation)
  })
})

interface AnswerCase {
  readonly name: string
  readonly answer: Answer
  readonly reason: UnknownReason
  readonly status?: number | null
}

const status =
  (code: number, body = UNAVAILABLE): Answer =>
  (_request, response) => {
    response.writeHead(code, { 'content-type': 'application/json' })
    response.end(code === 204 ? undefined : body)
  }

const cutShort: Answer = (_request, response) => {
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': '99' })
  response.write(UNAVAILABLE, () => response.destroy())
}

const ANSWERS: readonly AnswerCase[] = [
  { name: 'a good answer under 500', answer: status(500), reason: 'http_5xx', status: 500 },
  { name: 'a good answer under 404', answer: status(404), reason: 'http_4xx', status: 404 },
  { name: 'a good answer under 206', answer: status(206), reason: 'contract_violation' },
  { name: 'a good answer under 302', answer: status(302), reason: 'contract_violation' },
  { name: 'a good answer under 401', answer: status(401), reason: 'auth' },
  { name: 'a good answer under 429', answer: status(429), reason: 'rate_limited' },
  { name: 'nothing under 204', answer: status(204), reason: 'contract_violation', status: 204 },
  {
    name: 'a good answer as HTML',
    answer: json(UNAVAILABLE, { 'content-type': 'text/html' }),
    reason: 'malformed',
  },
  { name: 'HTML as JSON', answer: json('<html>'), reason: 'malformed', status: 200 },
  { name: 'an answer that ends early', answer: cutShort, reason: 'malformed', status: 200 },
  {
    name: 'a damaged gzip of a good answer',
    answer: json(gzipSync(UNAVAILABLE).subarray(0, -4), GZIP),
    reason: 'malformed',
  },
  { name: 'a list for an object', answer: json('[]'), reason: 'contract_violation' },
  { name: 'an error for an entry', answer: json('{"error":"down"}'), reason: 'id_missing' },
  {
    name: 'an answer over a megabyte',
    answer: json(UNAVAILABLE + ' '.repeat(1_000_000)),
    reason: 'malformed',
  },
]

it.each(ANSWERS)(
  '$name is unknown by the reason $reason',
  async ({ answer, reason, status = 0 }) => {
    await using server = await answering(answer)
    await using fixture = clientOf(server.url)

    const observation = await verify(fixture)

    expect(observation).toMatchObject({
      outbound: { kind: 'unknown', reason },
      return: { kind: 'unknown', reason },
    })
    if (status !== 0) expect(observation.evidence.status).toBe(status)
  },
)

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
  const server = createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  await using fixture = clientOf(`http://127.0.0.1:${port}`)

  const observation = await verify(fixture)

  expect(observation).toMatchObject({
    outbound: { kind: 'unknown', reason: 'network' },
    evidence: { status: null, body: null },
  })
  expect(observation.detail).toContain('ECONNREFUSED')
})

it('an echoed credential is removed from a valid answer', async () => {
  await using server = await answering((request, response) => {
    const airline = { id: 7, name: `by ${request.url} for ${CANARY}`, twoLetterCode: CANARY }
    const body = available({ airline, site: { url: `http://site/${request.url}` }, [CANARY]: 1 })
    json(JSON.stringify(body))(request, response)
  })
  await using fixture = clientOf(server.url)

  const observation = await verify(fixture)

  expect(observation.outbound.kind).toBe('available')
  expect(observation.evidence.body).toContain('[redacted]')
  expectNoCanary(fixture, observation)
})
