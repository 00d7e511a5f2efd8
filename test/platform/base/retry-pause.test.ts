import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { backoffMs } from '../../../src/platform/base/clock.ts'
import { retryAfterMs } from '../../../src/platform/base/retry-after.ts'

const now = new Date('2026-03-01T12:00:00Z')
const maxMs = 900_000

it.each([
  ['30', 30_000],
  [' 30 ', 30_000],
  ['0', 0],
  ['1.5', 1_500],
  ['1000000000', maxMs],
  ['1e9', maxMs],
  ['9'.repeat(400), maxMs],
  ['Sun, 01 Mar 2026 12:00:30 GMT', 30_000],
  ['Sunday, 01-Mar-26 12:00:30 GMT', 30_000],
  ['Sun Mar  1 12:00:30 2026', 30_000],
  ['Sun, 01 Mar 2026 11:00:00 GMT', 0],
  ['Fri, 01 Mar 2999 12:00:00 GMT', maxMs],
  [undefined, undefined],
  ['', undefined],
  ['-5', undefined],
  ['soon', undefined],
  ['12 apples', undefined],
  ['2026-03-01T12:00:30Z', undefined],
  ['Sun, 99 Foo 2026 12:00:30 GMT', undefined],
])('the header %j asks for %j ms', (header, expected) => {
  expect(retryAfterMs(header, { now, answeredAt: undefined, maxMs })).toBe(expected)
})

it('a date is compared with the Date header of the answer, not with our clock', () => {
  const answeredAt = 'Sun, 01 Mar 2026 12:10:00 GMT'

  const waitMs = retryAfterMs('Sun, 01 Mar 2026 12:10:30 GMT', { now, answeredAt, maxMs })

  expect(waitMs).toBe(30_000)
})

const POLICY = { baseMs: 100, maxMs: 5_000 }

describe('the pause before a retry', () => {
  it('has a window that doubles with every attempt, up to its maximum', () => {
    const almostOne = () => 1 - Number.EPSILON

    const windows = [0, 1, 2, 3, 4, 5, 6, 100].map((attempt) =>
      backoffMs(POLICY, attempt, almostOne),
    )

    expect(windows).toEqual([99, 199, 399, 799, 1_599, 3_199, 4_999, 4_999])
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
