import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { backoffMs } from '../../../src/platform/base/clock.ts'

const POLICY = { baseMs: 100, maxMs: 5_000 }

describe('the pause before a retry', () => {
  it('has a window that doubles with every attempt, up to its maximum', () => {
    const almostOne = () => 1 - Number.EPSILON

    const windows = [0, 1, 2, 3, 4, 5, 6, 100].map((attempt) =>
      backoffMs(POLICY, attempt, almostOne),
    )

    expect(windows).toEqual([99, 199, 399, 799, 1_599, 3_199, 4_999, 4_999])
  })

  it('is spread over the window by the random number', () => {
    expect(backoffMs(POLICY, 3, () => 0)).toBe(0)
    expect(backoffMs(POLICY, 3, () => 0.5)).toBe(400)
  })

  it('is a whole number of milliseconds within the window, after any number of attempts', () => {
    const chance = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })
    fc.assert(
      fc.property(fc.nat(2_000), chance, (attempt, random) => {
        const pause = backoffMs(POLICY, attempt, () => random)

        expect(Number.isInteger(pause)).toBe(true)
        expect(pause).toBeGreaterThanOrEqual(0)
        expect(pause).toBeLessThan(POLICY.maxMs)
      }),
    )
  })
})
