import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  isPaused,
  MAX_PAUSE_MS,
  shareAt,
  type Throttle,
  throttled,
} from '../../src/upstream/budget/throttle.ts'

const NOW = Date.parse('2026-03-01T00:00:00Z')
const UNTOUCHED: Throttle = {
  pausedUntilMs: 0,
  pausesInRow: 0,
  share: 1,
  recoversFromMs: 0,
  loweredAtMs: 0,
}
const unnamed = { retryAfterMs: undefined, lowersBudget: true }

function named(retryAfterMs: number) {
  return { retryAfterMs, lowersBudget: true }
}

describe('a pause', () => {
  it.each([
    ['as long as it was asked for', 30_000, 30_000],
    ['a second at least', 0, 1_000],
    ['a quarter of an hour at most', 1e12, MAX_PAUSE_MS],
  ])('lasts %s', (_name, askedMs, lastsMs) => {
    expect(throttled(UNTOUCHED, named(askedMs), NOW).pausedUntilMs).toBe(NOW + lastsMs)
  })

  it('without a requested time doubles with each further refusal, and later begins with the shortest time', () => {
    const lengths: number[] = []
    let state = UNTOUCHED
    let nowMs = NOW
    for (let i = 0; i < 7; i += 1) {
      state = throttled(state, unnamed, nowMs)
      lengths.push((state.pausedUntilMs - nowMs) / 1000)
      nowMs = state.pausedUntilMs + 500
    }
    const later = throttled(state, unnamed, state.pausedUntilMs + 60_000)

    expect(lengths).toEqual([4, 8, 16, 32, 64, 120, 120])
    expect(later.pausedUntilMs - state.pausedUntilMs - 60_000).toBe(4_000)
  })

  it('counts once, even if several calls from before it are refused', () => {
    const first = throttled(UNTOUCHED, named(30_000), NOW)
    const again = throttled(first, unnamed, NOW + 100)

    expect(again.pausedUntilMs).toBe(first.pausedUntilMs)
    expect(again.pausesInRow).toBe(1)
  })

  it('from before the clock was set back has no effect', () => {
    const paused = throttled(UNTOUCHED, named(30_000), NOW)

    expect(isPaused(paused, NOW + 29_999)).toBe(true)
    expect(isPaused(paused, NOW + 30_000)).toBe(false)
    expect(isPaused(paused, NOW - 3_600_000)).toBe(false)
  })
})

describe('the share of the budget', () => {
  it('is multiplied by 0.7 at most once a second', () => {
    let state = UNTOUCHED
    const shares = [0, 300, 999, 1_000, 1_500, 2_000].map((ms) => {
      state = throttled(state, named(5_000), NOW + ms)
      return Number(state.share.toFixed(4))
    })

    expect(shares).toEqual([0.7, 0.7, 0.7, 0.49, 0.49, 0.343])
  })

  it('recovers by 1 % of the full budget a second after the pause', () => {
    const state = throttled(UNTOUCHED, named(10_000), NOW)
    const after = (seconds: number) => shareAt(state, NOW + 10_000 + seconds * 1000)

    expect(shareAt(state, NOW + 9_000)).toBeCloseTo(0.7)
    expect([0, 1, 10, 29, 30, 1_000].map(after).map((share) => share.toFixed(2))).toEqual([
      '0.70',
      '0.71',
      '0.80',
      '0.99',
      '1.00',
      '1.00',
    ])
  })

  it('is not lowered by a pause that a 503 asked for', () => {
    const lowered = throttled(UNTOUCHED, named(1_000), NOW)
    const paused = throttled(lowered, { retryAfterMs: 5_000, lowersBudget: false }, NOW + 6_000)

    expect(paused.share).toBeCloseTo(0.75)
    expect(shareAt(paused, NOW + 11_000)).toBeCloseTo(0.75)
  })

  it('is always above 0 and at most 1, and no pause is too long or shortened', () => {
    const hints = fc.array(
      fc.record({
        afterMs: fc.nat(20_000),
        retryAfterMs: fc.option(fc.nat(2_000_000), { nil: undefined }),
        lowersBudget: fc.boolean(),
      }),
    )
    fc.assert(
      fc.property(hints, (all) => {
        let state = UNTOUCHED
        let nowMs = NOW
        for (const { afterMs, ...hint } of all) {
          nowMs += afterMs
          const next = throttled(state, hint, nowMs)
          expect(next.share).toBeGreaterThan(0)
          expect(next.share).toBeLessThanOrEqual(1)
          expect(next.pausedUntilMs).toBeGreaterThanOrEqual(
            isPaused(state, nowMs) ? state.pausedUntilMs : nowMs,
          )
          expect(next.pausedUntilMs).toBeLessThanOrEqual(nowMs + MAX_PAUSE_MS)
          state = next
        }
      }),
    )
  })
})
