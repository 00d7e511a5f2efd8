import { expect, it } from 'vitest'
import { readCsvBody } from '../../src/watches/watch-input.ts'

it('a body with too many rows is not read to its end', async () => {
  const header = 'reference,flight_id,residents_adults,non_residents_adults\n'
  const body = Buffer.from(header + 'a,1,1,0\n'.repeat(370_000))
  let readBytes = 0
  body.subarray = (from, to) => {
    readBytes = to ?? body.length
    return Buffer.prototype.subarray.call(body, from, to)
  }

  await expect(readCsvBody(body, { list: 'l', maxRows: 5_000 })).rejects.toThrow('5000 rows')

  expect(readBytes).toBeGreaterThan(0)
  expect(readBytes).toBeLessThan(300_000)
})
