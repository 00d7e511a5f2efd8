import { expect, it } from 'vitest'
import { systemClock } from '../../src/platform/base/clock.ts'
import { createScrub } from '../../src/platform/base/secrets.ts'
import { type ProbeOptions, probeUpstream } from '../../src/upstream/probe/probe-upstream.ts'
import { type Answer, answering, json, raw } from './answering-server.ts'
import { CANARY } from './client-fixture.ts'
import { elementWith, place } from './routes-fixture.ts'
import { available } from './verify-fixtures.ts'

const PAIRS = `[${elementWith(place('1'))},${elementWith(place('3'))}]`
const OTHERS = `[${elementWith(place('1'))},${elementWith(place('9'))}]`

function probe(baseUrl: string, options: Partial<ProbeOptions> = {}) {
  return probeUpstream({
    baseUrl,
    accessToken: CANARY,
    scrub: createScrub([CANARY]),
    clock: systemClock,
    beforeCall: async () => undefined,
    flightId: null,
    negative: false,
    signal: new AbortController().signal,
    ...options,
  })
}

/** An upstream that follows its contract, with additional headers. */
const good: Answer = (request, response) => {
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://localhost')
  if (pathname.endsWith('/verify')) return answerVerify(searchParams)(request, response)
  const headers = { etag: '"v1"', 'x-ratelimit-limit': '60', 'x-other': 'not shown' }
  json(pathname.endsWith('/routes') ? PAIRS : OTHERS, headers)(request, response)
}

function answerVerify(query: URLSearchParams): Answer {
  if (query.get('accessToken') === CANARY) return json(JSON.stringify(available()))
  return (_request, response) => {
    response.writeHead(401, { 'content-type': 'application/json' })
    response.end('{"error":"no token","code":7}')
  }
}

it('a probe calls each endpoint once, each at its own slot, and reports undocumented facts', async () => {
  await using server = await answering(good)
  let slots = 0
  const beforeCall = async () => {
    slots += 1
  }

  const { calls, skipped } = await probe(server.url, { flightId: '1234', beforeCall })

  expect(slots).toBe(3)
  expect(server.requests.map((url) => url.split('?')[0])).toEqual([
    '/api/v1/data/routes',
    '/api/v1/data/routes/with-availability',
    '/api/v1/flights/fares/verify',
  ])
  expect(calls).toMatchObject([
    {
      call: 'routes',
      outcome: 'ok',
      status: 200,
      bytes: PAIRS.length,
      headers: { etag: '"v1"', 'x-ratelimit-limit': '60' },
      found: { shape: 'Route[]', routes: 2, places: 3 },
    },
    { call: 'with-availability', outcome: 'ok', found: { shape: 'Route[]' } },
    { call: 'verify', outcome: 'ok', found: { flight: 'available' } },
  ])
  expect(calls[0]?.headers).not.toHaveProperty('x-other')
  expect(skipped).toMatchObject([{ call: 'refusals' }])
})

it('invalid calls are made only on request, and the shape of their refusals is reported', async () => {
  await using server = await answering(good)

  const { calls, skipped } = await probe(server.url, { negative: true })

  expect(skipped).toMatchObject([{ call: 'verify' }])
  const [lists, refused] = calls.filter(({ documented }) => !documented)
  expect(lists).toMatchObject({ outcome: 'ok', found: { 'needs the token': false } })
  expect(refused).toMatchObject({
    call: 'verify without a token',
    outcome: 'upstream.auth',
    found: { 'shape of the body': 'JSON object: error (text), code (number)' },
  })
  expect(server.requests.filter((url) => !url.includes('accessToken'))).toHaveLength(2)
})

const loud = raw(
  `HTTP/1.1 500 x\r\netag: ${CANARY}\r\nx-ratelimit-a: ${CANARY}\r\ncontent-type: ${CANARY}\r\ncontent-length: 0\r\n\r\n`,
)

const page: Answer = (_request, response) => {
  response.writeHead(200, {
    'content-type': 'text/html',
    'x-ratelimit-left': encodeURIComponent(CANARY),
  })
  response.end(`<html>${CANARY} ${encodeURIComponent(CANARY)}</html>`)
}

it.each<[string, Answer, object]>([
  [
    'a page',
    page,
    { outcome: 'upstream.contract_violation', status: 200, contentType: 'text/html' },
  ],
  ['headers that are secrets', loud, { outcome: 'upstream.http_5xx', status: 500 }],
  [
    'a reset',
    (request) => void request.socket.resetAndDestroy(),
    { outcome: 'upstream.network', status: null },
  ],
  ['a wrong shape', json('{"routes":[]}'), { outcome: 'upstream.contract_violation', bytes: 13 }],
  [
    'a broken row',
    json('[{}]'),
    { found: { error: expect.stringContaining('departure is missing') } },
  ],
])('a probe continues after %s and reports no secret', async (_what, answer, seen) => {
  await using server = await answering(answer)

  const { calls } = await probe(server.url, { negative: true, flightId: '1234' })

  expect(calls).toHaveLength(7)
  expect(calls[0]).toMatchObject(seen)
  const text = JSON.stringify(calls)
  expect(createScrub([CANARY])(text)).toBe(text)
  expect(text).not.toContain('CANARY')
})
