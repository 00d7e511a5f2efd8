import { expect, it } from 'vitest'
import { createScrub } from '../../src/platform/base/secrets.ts'
import { conditionsOf, validatorsOf } from '../../src/upstream/lists/fetch-route-list.ts'
import { type Answer, json } from './answering-server.ts'
import { clientFor } from './client-fixture.ts'
import { ROUTES, readAll } from './routes-fixture.ts'

const BODY = JSON.stringify(ROUTES)
const ETAG = '"v1"'
const DATE = 'Wed, 21 Oct 2026 07:28:00 GMT'
const NONE = { etag: null, lastModified: null }
const { signal } = new AbortController()

/** An upstream that identifies its list by one entity tag and one date. */
const versioned: Answer = (request, response) => {
  const { 'if-none-match': tag, 'if-modified-since': date } = request.headers
  if (tag === ETAG || (tag === undefined && date === DATE)) {
    response.writeHead(304, { etag: ETAG })
    response.end()
    return
  }
  json(BODY, { etag: ETAG, 'last-modified': DATE })(request, response)
}

it.each([
  ['its tag', { etag: ETAG, lastModified: null }],
  ['its date', { etag: null, lastModified: DATE }],
  ['both', { etag: ETAG, lastModified: DATE }],
])('an unchanged list with %s is null', async (_what, validators) => {
  await using fixture = await clientFor(versioned)

  const body = await fixture.client.fetchRouteListIfModified('routes', { signal, validators })

  expect(body).toBeNull()
  expect(fixture.calls).toMatchObject([{ outcome: 'upstream.not_modified', status: 304 }])
})

it('a changed list is fetched with its new validators', async () => {
  await using fixture = await clientFor(versioned)
  const validators = { etag: '"v0"', lastModified: null }

  const body = await fixture.client.fetchRouteListIfModified('routes', { signal, validators })

  expect(body?.validators).toEqual({ etag: ETAG, lastModified: DATE })
  expect((await readAll(body?.chunks ?? [])).routes).toEqual(ROUTES)
})

it.each([
  ['a tag without quotes', { etag: 'v1' }],
  ['a star, which would match any list', { etag: '*' }],
  ['several tags', { etag: '"a", "b"' }],
  ['a tag over 200 characters', { etag: `"${'x'.repeat(200)}"` }],
  ['a tag that holds a secret of ours', { etag: '"for-SECRET-1"' }],
  ['a tag outside ASCII', { etag: '"é"' }],
  ['a date that is none', { 'last-modified': 'Wed, 99 Foo 2026 07:28:00 GMT' }],
  ['a date of another form', { 'last-modified': '2026-10-21T07:28:00Z' }],
  ['a number', { 'last-modified': '0' }],
  ['no header', {}],
])('%s is not a validator', (_what, headers) => {
  expect(validatorsOf({ headers }, createScrub(['SECRET-1']))).toEqual(NONE)
})

it('an invalid validator is never sent', () => {
  expect(conditionsOf({ etag: '*', lastModified: 'x\r\ny: z' })).toEqual({})
})
