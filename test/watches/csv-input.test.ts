import { expect, it } from 'vitest'
import { csvSource } from '../../src/watches/watch-input.ts'

// Fault: A CSV body has 370,000 rows.
it('a body with too many rows is not read to its end', async () => {
  const header = 'reference,flight_id,residents_adults,non_residents_adults\n'
  const piece = 'a,1,1,0\n'.repeat(4_000)
  let pieces = 0
  const read = async function* () {
    yield Buffer.from(header)
    for (; pieces < 100; pieces += 1) yield Buffer.from(piece)
  }
  const rows = { list: 'l', maxRows: 5_000, references: [] }
  const readAll = async () => {
    for await (const _ of csvSource({ name: 'the body', read }, rows).read());
  }

  await expect(readAll()).rejects.toThrow('5000 rows')

  expect(pieces).toBeLessThan(20)
})
