import { expect } from 'vitest'
import { budgetFor, expectedDelays, readFareGroups } from '../../src/schedule/plan-budget.ts'
import { it } from '../support/test-database.ts'
import { trackFares, updateNow } from './schedule-fixtures.ts'

it('the delays of the present fares follow from what their resellers spend', async ({ db }) => {
  const of = (reseller: number, count: number) =>
    Array.from({ length: count }, () => ({ resellers: [reseller], rate: null }))
  await trackFares(db, [...of(1, 30), ...of(2, 10)])
  await updateNow(db, { requestsPerSecond: 1, minRecheckSeconds: 10 })

  const groups = await readFareGroups(db, 10)

  // Each reseller has half a check a second: a check every 60 s for the thirty fares, and every 20 s for the ten.
  expect(groups.map(({ fares }) => fares).sort((a, b) => a - b)).toEqual([10, 30])
  expect(groups.map(({ changesPerDay }) => changesPerDay).sort((a, b) => a - b)).toEqual([10, 30])
  const delays = expectedDelays(groups, 1)
  expect(delays?.p50Seconds).toBeCloseTo(20, 6)
  expect(delays?.p95Seconds).toBeCloseTo(56, 6)
  expect(budgetFor(groups, 28)).toBeCloseTo(2, 6)
  // A check every ten seconds is the most: 95 % within 9.5 s.
  expect(budgetFor(groups, 9)).toBeNull()
})
