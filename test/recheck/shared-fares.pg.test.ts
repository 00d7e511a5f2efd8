import { describe, expect } from 'vitest'
import { it } from '../support/test-database.ts'
import { newReseller } from '../watch/watch-fixtures.ts'
import { runSchedule, trackFares } from './recheck-fixtures.ts'

describe('fares that resellers share', () => {
  it('leave budget for those that one of the resellers has for itself', async ({ db }) => {
    const shared = Array.from({ length: 40 }, () => ({ resellers: [1, 2] }))
    const own = Array.from({ length: 20 }, () => ({ resellers: [2] }))
    const fares = await trackFares(db, [...shared, ...own])

    const checksOf = await runSchedule(db, 600)

    const fewest = (some: readonly number[]) =>
      Math.min(...some.map((fare) => checksOf(fare).length))
    expect(fewest(fares.slice(0, 40))).toBeGreaterThan(3)
    expect(fewest(fares.slice(40))).toBeGreaterThan(3)
  })
})

describe('fares that equal resellers share', () => {
  it('are paid by both alike, so that the own fares of both are checked as often', async ({
    db,
  }) => {
    const shared = Array.from({ length: 40 }, () => ({ resellers: [1, 2] }))
    const own = (reseller: number) => Array.from({ length: 10 }, () => ({ resellers: [reseller] }))
    const fares = await trackFares(db, [...shared, ...own(1), ...own(2)])

    const checksOf = await runSchedule(db, 900)

    const total = (some: readonly number[]) =>
      some.reduce((sum, fare) => sum + checksOf(fare).filter((at) => at > 200).length, 0)
    // At first the first reseller pays for all shared fares.
    const [first, second] = [total(fares.slice(40, 50)), total(fares.slice(50))]
    expect(Math.max(first, second) / Math.min(first, second)).toBeLessThan(1.5)
  })
})

describe('fares that no reseller watches', () => {
  it('take a hundredth of what the fares of a reseller take', async ({ db }) => {
    const ended = Array.from({ length: 20 }, () => ({ resellers: [] }))
    const resellers = [await newReseller(db)]
    const watched = Array.from({ length: 20 }, () => ({ resellers }))
    const fares = await trackFares(db, [...ended, ...watched])

    const checksOf = await runSchedule(db, 300)

    const counts = fares.map((fare) => checksOf(fare).length)
    const total = (some: readonly number[]) => some.reduce((sum, count) => sum + count, 0)
    expect(total(counts.slice(0, 20))).toBeLessThanOrEqual(5)
    expect(total(counts.slice(20))).toBeGreaterThan(290)
  })
})
