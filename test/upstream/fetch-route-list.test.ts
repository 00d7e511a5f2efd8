import { createHash } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import { expect, it } from 'vitest'
import { fetchList } from '../support/fetch-list.ts'
import { answering, json } from './answering-server.ts'
import { clientFor, clientOf } from './client-fixture.ts'
import { ROUTES } from './routes-fixture.ts'

const BODY = JSON.stringify(ROUTES)
const { signal } = new AbortController()

it('the hash covers the decoded bytes, so a compressed list has the same hash', async () => {
  await using plain = await answering(json(BODY))
  await using zipped = await answering(json(gzipSync(BODY), { 'content-encoding': 'gzip' }))
  await using plainClient = clientOf(plain.url)
  await using zippedClient = clientOf(zipped.url)

  const first = await fetchList(plainClient.client, 'routes', { signal })
  const second = await fetchList(zippedClient.client, 'routes', { signal })

  const hash = createHash('sha256').update(BODY).digest('hex')
  expect([first.contentHash, second.contentHash]).toEqual([hash, hash])
  expect([first.bytes, second.bytes]).toEqual([BODY.length, BODY.length])
})

it('every call is reported once, with its outcome', async () => {
  await using fixture = await clientFor((request, response) => {
    if (request.url?.includes('with-availability')) json('{}')(request, response)
    else json(BODY)(request, response)
  })

  await fixture.pull('routes')
  await expect(fixture.pull('with-availability')).rejects.toThrow()

  const durationMs = expect.any(Number)
  expect(fixture.calls).toEqual([
    { endpoint: 'routes', outcome: 'ok', status: 200, durationMs, bytes: BODY.length },
    {
      endpoint: 'with-availability',
      outcome: 'upstream.contract_violation',
      status: 200,
      durationMs,
      bytes: 2,
    },
  ])
})

it.each([
  'ftp://host',
  'host',
  'http://user:secret@host',
  'http://host/?a=secret',
  'http://host/#x',
])('the base URL %s is refused without being quoted', (baseUrl) => {
  expect(() => clientOf(baseUrl)).toThrow(/^the upstream base URL must be http or https/)
})

it('the wait that a 429 asks for is computed with the clock of the answer', async () => {
  await using fixture = await clientFor((_request, response) => {
    response.writeHead(429, {
      date: 'Sun, 06 Nov 1994 08:49:37 GMT',
      'retry-after': 'Sun, 06 Nov 1994 08:50:07 GMT',
    })
    response.end()
  })

  await expect(fixture.pull()).rejects.toMatchObject({
    code: 'upstream.rate_limited',
    retryAfterMs: 30_000,
  })
})
