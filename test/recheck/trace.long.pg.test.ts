import { expect } from 'vitest'
import { it } from '../support/test-database.ts'
import { largestDifference, traceInDatabase, traceInMemory } from './trace.ts'

it('a hundred thousand claims and reports have the same order, payers, due times and estimates in the database as in the pure functions', async ({
  db,
}) => {
  const args = { fares: 1_000, batches: 2_000, batchSize: 50, shares: [1, 1, 2, 0.5, 1] }

  const [pure, stored] = [traceInMemory(args), await traceInDatabase(db, args)]

  expect(stored.order).toEqual(pure.order)
  expect(largestDifference(pure, stored)).toBeLessThan(1e-9)
}, 600_000)
