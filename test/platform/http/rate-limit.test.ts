import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createRateLimit } from '../../../src/platform/http/rate-limit.ts'

function aLimit(requestsPerSecond: number, maxKeys?: number) {
  const clock = { nowMs: 0 }
  const limit = createRateLimit({
    requestsPerSecond,
    nowMs: () => clock.nowMs,
    ...(maxKeys === undefined ? {} : { maxKeys }),
  })
  return { limit, clock }
}

describe('the rate limit', () => {
  it('a key may make ten seconds’ worth of requests at once, then one at a time as the quota refills', () => {
    const { limit, clock } = aLimit(2)
    const burst = Array.from({ length: 21 }, () => limit.take('k').allowed)

    expect(burst).toEqual([...Array.from({ length: 20 }, () => true), false])
    expect(limit.take('k')).toEqual({
      allowed: false,
      remaining: 0,
      resetSeconds: 10,
      retryAfterSeconds: 1,
    })
    clock.nowMs = 500
    expect([limit.take('k').allowed, limit.take('k').allowed]).toEqual([true, false])
  })

  it('each key has its own count, and the least recently used key is dropped', () => {
    const { limit } = aLimit(0.1, 2)

    expect(['a', 'b', 'a', 'b', 'c', 'a'].map((key) => limit.take(key).allowed)).toEqual([
      true,
      true,
      false,
      false,
      true,
      // It was dropped for c, so its bucket is full again.
      true,
    ])
  })

  it('keys are not dropped for unauthenticated addresses, however many there are', () => {
    const { limit } = aLimit(0.1, 2)
    limit.take('key 1')
    for (const address of ['a', 'b', 'c', 'd']) limit.take(`address ${address}`)

    expect(limit.take('key 1').allowed).toBe(false)
    expect(limit.take('address d').allowed).toBe(false)
    expect(limit.take('address a').allowed).toBe(true)
  })

  it('no interval of time lets more requests pass than the quota and its refill', () => {
    fc.assert(
      fc.property(fc.array(fc.nat({ max: 2_000 }), { maxLength: 200 }), (pausesMs) => {
        const { limit, clock } = aLimit(1)
        let allowed = 0
        for (const pauseMs of pausesMs) {
          clock.nowMs += pauseMs
          if (limit.take('k').allowed) allowed += 1
        }
        expect(allowed).toBeLessThanOrEqual(10 + clock.nowMs / 1000)
      }),
    )
  })

  it('a refused request reports when the next one is allowed', () => {
    fc.assert(
      fc.property(fc.double({ min: 0.1, max: 1_000, noNaN: true }), (perSecond) => {
        const { limit, clock } = aLimit(perSecond)
        for (let take = limit.take('k'); take.allowed; take = limit.take('k'));
        const { retryAfterSeconds } = limit.take('k')
        clock.nowMs = retryAfterSeconds * 1_000
        expect(limit.take('k').allowed).toBe(true)
      }),
      { numRuns: 20 },
    )
  })
})
