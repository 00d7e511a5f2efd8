import fc from 'fast-check'
import { expect, it } from 'vitest'
import { readStrictJson } from '../../src/upstream/strict-json.ts'

function read(text: string | Uint8Array) {
  return readStrictJson([Buffer.from(text)], 8)
}

it('a whole number keeps every digit', () => {
  expect(read('{"id":9007199254740993,"at":1.5,"n":12}')).toEqual({
    value: { id: 9007199254740993n, at: 1.5, n: 12 },
  })
})

it('a body is read from chunks that split a character', () => {
  const bytes = Buffer.from('{"city":"Málaga"}')

  expect(readStrictJson([bytes.subarray(0, 11), bytes.subarray(11)], 8)).toEqual({
    value: { city: 'Málaga' },
  })
})

it.each([
  ['', 'the body is empty'],
  [' \n', 'the body is not JSON'],
  ['<html>', 'the body is not JSON'],
  ['{"a":1', 'the body is not JSON'],
  ['{"a":1}{"a":1}', 'the body is not JSON'],
  ['{"a":NaN}', 'the body is not JSON'],
  ['\ufeff{}', 'the body is not JSON'],
  [Buffer.from([0x22, 0xff, 0x22]), 'the body is not UTF-8'],
  ['{"a":1,"a":1}', 'the body has a name twice in one object'],
  ['[{"b":{"a":true,"a":false}}]', 'the body has a name twice in one object'],
  ['{"a":1,"\\u0061":2}', 'the body has a name twice in one object'],
  [`${'['.repeat(9)}${']'.repeat(9)}`, 'the body is nested deeper than 8 levels'],
  ['{"a":'.repeat(200_000), 'the body is nested deeper than 8 levels'],
  [']'.repeat(10), 'the body is not JSON'],
])('the body %j is refused', (body, fault) => {
  expect(read(body)).toEqual({ fault })
})

it.each([
  '{"a:b":":","c\\":":[{"a":"\\\\"},{"a":1}]}',
  '{"__proto__":1,"constructor":2}',
  '{"":{"":{"":0}}}',
])('the body %s is accepted', (body) => {
  expect(read(body)).toHaveProperty('value')
})

it('all JSON of a serializer is read', () => {
  fc.assert(
    fc.property(fc.json({ maxDepth: 5 }), (text) => {
      expect(read(text)).toHaveProperty('value')
    }),
    { numRuns: 1_000 },
  )
})
