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
