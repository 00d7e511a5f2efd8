import { expect, it } from 'vitest'
import { encodingFor } from '../../src/http/encodings.ts'

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
])('of %j is sent %s', (header, encoding) => {
  expect(encodingFor(header)).toBe(encoding)
})
