import { describe, expect, it } from 'vitest'
import {
  acceptedIn,
  minuteQuotaOf,
  quotaOf,
  refusedIn,
  secondsUntilFull,
  simulate,
  spuriousOf,
} from '../../bench/throttle-simulation.ts'

const REQUESTS_PER_SECOND = 20

describe('after 429s that have nothing to do with our rate', () => {
  it.each([
    { part: 0.01, seconds: 60, retryAfterMs: 1_000 },
    { part: 0.1, seconds: 10, retryAfterMs: 1_000 },
    { part: 0.1, seconds: 60, retryAfterMs: 1_000 },
    { part: 0.1, seconds: 60, retryAfterMs: undefined },
    { part: 0.3, seconds: 120, retryAfterMs: undefined },
    // Fault: 1 to 30 % of the calls are refused with 429 for a while, whatever our rate.
  ])('the whole budget is back within 50 s: %o', ({ seconds, ...burst }) => {
    for (const seed of [1, 2, 3, 4, 5]) {
      const upstream = spuriousOf({ ...burst, seconds, seed })
      const run = { requestsPerSecond: REQUESTS_PER_SECOND, seconds: seconds + 60 }

      const wait = secondsUntilFull(simulate(upstream, run), seconds)

      expect(wait).toBeGreaterThanOrEqual(0)
      expect(wait).toBeLessThanOrEqual(50)
    }
  })
})

describe('a quota below the budget', () => {
  const minutes = { from: 180, to: 600 }
  const perMinute = (count: number) => count / ((minutes.to - minutes.from) / 60)

  it.each([
    { part: 0.25, retryAfterMs: 1_000 },
    { part: 0.5, retryAfterMs: 1_000 },
    { part: 0.5, retryAfterMs: undefined },
    { part: 0.9, retryAfterMs: 1_000 },
    // Fault: A hidden quota lies below the budget.
  ])('is exceeded six times a minute at most, and four fifths of it are used: %o', (quota) => {
    const perSecond = quota.part * REQUESTS_PER_SECOND
    const run = { requestsPerSecond: REQUESTS_PER_SECOND, seconds: minutes.to }

    const result = simulate(quotaOf(perSecond, quota.retryAfterMs), run)

    expect(refusedIn(result, 0, 60)).toBeLessThanOrEqual(20)
    expect(perMinute(refusedIn(result, minutes.from, minutes.to))).toBeLessThanOrEqual(6)
    const accepted = acceptedIn(result, minutes.from, minutes.to)
    expect(accepted / ((minutes.to - minutes.from) * perSecond)).toBeGreaterThanOrEqual(0.8)
  })

  it('of each minute is exceeded only by the calls in flight when it ends', () => {
    const run = { requestsPerSecond: REQUESTS_PER_SECOND, seconds: minutes.to }

    const result = simulate(minuteQuotaOf(300), run)

    expect(perMinute(refusedIn(result, minutes.from, minutes.to))).toBeLessThanOrEqual(5)
    expect(acceptedIn(result, 60, minutes.to)).toBe(300 * 9)
  })
})
