import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { expect, it } from 'vitest'
import { createEncodedBody } from '../../src/http/encoded-body.ts'

const PLAIN = Buffer.from('Palma to Madrid; '.repeat(1_000))

it('a body is the same in every encoding, and smaller', async () => {
  const body = createEncodedBody(PLAIN)

  expect(body.bytes).toBe(PLAIN.length)
  expect(await body.as('identity')).toBe(PLAIN)
  expect(brotliDecompressSync(await body.as('br'))).toEqual(PLAIN)
  expect(gunzipSync(await body.as('gzip'))).toEqual(PLAIN)
  expect((await body.as('br')).length).toBeLessThan(PLAIN.length / 10)
})

it('a body is made once an encoding, however many want it at a time', async () => {
  const body = createEncodedBody(PLAIN)

  const [first, second] = await Promise.all([body.as('gzip'), body.as('gzip')])

  expect(second).toBe(first)
  expect(await body.as('gzip')).toBe(first)
})
