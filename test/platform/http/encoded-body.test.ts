import { expect, it } from 'vitest'
import { createEncodedBody, encodingFor } from '../../../src/platform/http/responses.ts'

const PLAIN = Buffer.from('Palma to Madrid; '.repeat(1_000))

it('concurrent requests for one encoding compress the body once', async () => {
  const body = createEncodedBody(PLAIN)

  const [first, second] = await Promise.all([body.as('gzip'), body.as('gzip')])

  expect(second).toBe(first)
  expect(await body.as('gzip')).toBe(first)
})

it.each([
  [undefined, 'identity'],
  ['', 'identity'],
  ['gzip', 'gzip'],
  ['gzip, deflate, br', 'br'],
  ['GZIP', 'gzip'],
  ['gzip, br;q=0.5', 'gzip'],
  ['br;q=0, gzip', 'gzip'],
  ['br;q=0, gzip;q=0', 'identity'],
  ['*', 'br'],
  ['*;q=0', 'identity'],
  ['br;q=0, *', 'gzip'],
  ['identity', 'identity'],
  ['identity;q=1, br;q=0.5', 'identity'],
  ['deflate, compress', 'identity'],
  ['br;q=much, gzip;q=0.1', 'gzip'],
  ['br ; q=0.9', 'br'],
  [';;;,,=', 'identity'],
])('a client with Accept-Encoding %j receives %s', (header, encoding) => {
  expect(encodingFor(header)).toBe(encoding)
})
