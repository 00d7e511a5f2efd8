import { createHash } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import { expect, it } from 'vitest'
import { answering, json } from './answering-server.ts'
import { CANARY, clientOf } from './client-fixture.ts'
import { ROUTES } from './routes-fixture.ts'

const BODY = JSON.stringify(ROUTES)
const { signal } = new AbortController()

it('fetches a list and reads it back', async () => {
  await using server = await answering(json(BODY))
  await using fixture = clientOf(server.url)

  expect(await fixture.pull()).toEqual(ROUTES)
})

it('asks each list at its own path, behind the path of the base URL', async () => {
  await using server = await answering(json(BODY))
  await using fixture = clientOf(`${server.url}/fares/`, { accessToken: undefined })

  await fixture.pull('routes')
  await fixture.pull('with-availability')

  expect(server.requests).toEqual([
    '/fares/api/v1/data/routes',
    '/fares/api/v1/data/routes/with-availability',
  ])
})

it('sends the access token as a query parameter that reads back as it was', async () => {
  await using server = await answering(json(BODY))
  await using fixture = clientOf(server.url)

  await fixture.pull()

  const sent = new URL(server.requests[0] ?? '', server.url)
  expect(sent.searchParams.get('accessToken')).toBe(CANARY)
  expect(server.requests).toHaveLength(1)
})

it('hashes the decoded bytes, so that a compressed list is the same list', async () => {
  await using plain = await answering(json(BODY))
  await using zipped = await answering(json(gzipSync(BODY), { 'content-encoding': 'gzip' }))
  await using plainClient = clientOf(plain.url)
  await using zippedClient = clientOf(zipped.url)

  const first = await plainClient.client.fetchRouteList('routes', { signal })
  const second = await zippedClient.client.fetchRouteList('routes', { signal })

  const hash = createHash('sha256').update(BODY).digest('hex')
  expect([first.contentHash, second.contentHash]).toEqual([hash, hash])
  expect([first.bytes, second.bytes]).toEqual([BODY.length, BODY.length])
})

it('reports the bytes as they arrive', async () => {
  const padded = `[${' '.repeat(3_000_000)}]`
  await using server = await answering(json(padded))
  await using fixture = clientOf(server.url)
  const progress: number[] = []

  const body = await fixture.client.fetchRouteList('routes', {
    signal,
    onProgress: (bytes) => progress.push(bytes),
  })

  expect(progress.length).toBeGreaterThan(2)
  expect(progress).toEqual(progress.toSorted((a, b) => a - b))
  expect(progress.at(-1)).toBe(padded.length)
  expect(Buffer.concat(body.chunks).toString()).toBe(padded)
})

it('reports every call once, with its outcome', async () => {
  await using server = await answering((request, response) => {
    if (request.url?.includes('with-availability')) json('{}')(request, response)
    else json(BODY)(request, response)
  })
  await using fixture = clientOf(server.url)

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
  'application/json',
  'Application/JSON; charset=utf-8',
  'application/vnd.fares.v1+json',
  'application/json ;charset=utf-8',
])('takes %s for JSON', async (type) => {
  await using server = await answering(json(BODY, { 'content-type': type }))
  await using fixture = clientOf(server.url)

  expect(await fixture.pull()).toEqual(ROUTES)
})

it.each([
  'ftp://host',
  'host',
  'http://user:secret@host',
  'http://host/?a=secret',
  'http://host/#x',
])('refuses the base URL %s without quoting it', (baseUrl) => {
  expect(() => clientOf(baseUrl)).toThrow(/^the upstream base URL must be http or https/)
})
