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
}
/** A refusal of a call that was made after every pause that has ended. */
const unnamed = { retryAfterMs: undefined, lowersBudget: true, madeAtMs: Number.POSITIVE_INFINITY }

function named(retryAfterMs: number) {
  return { ...unnamed, retryAfterMs }
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

    expect(lengths).toEqual([2, 4, 8, 16, 16, 16, 16])
    expect(later.pausedUntilMs - state.pausedUntilMs - 60_000).toBe(2_000)
  })

  it('that is further ahead than the longest is none: the clock was set back', () => {
    const pausedAt = (pausedUntilMs: number) => isPaused({ pausedUntilMs }, NOW)

    expect([NOW, NOW + 1, NOW + MAX_PAUSE_MS, NOW + MAX_PAUSE_MS + 1].map(pausedAt)).toEqual([
      ...[false, true, true, false],
    ])
  })

  it('counts once, even if several calls from before it are refused', () => {
    const first = throttled(UNTOUCHED, named(30_000), NOW)
    const again = throttled(first, unnamed, NOW + 100)

    expect(again.pausedUntilMs).toBe(first.pausedUntilMs)
    expect(again.pausesInRow).toBe(1)
  })
})

describe('the share of the budget', () => {
  it('is lowered once by all refused calls that were made before the pause ended', () => {
    const first = throttled(UNTOUCHED, named(1_000), NOW)
    const lateMs = [NOW - 500, NOW + 400, NOW + 999]
    const late = lateMs.map((madeAtMs) =>
      throttled(first, { ...named(1_000), madeAtMs }, NOW + 1_200),
    )
    const next = throttled(first, { ...named(1_000), madeAtMs: NOW + 1_000 }, NOW + 1_200)

    expect(first.share).toBeCloseTo(0.7)
    expect(throttled(first, named(1_000), NOW + 500).share).toBeCloseTo(0.7)
    for (const { share } of late) expect(share).toBeGreaterThan(0.7)
    expect(next.share).toBeLessThan(0.52)
  })

  it('returns to the refused rate, stays there for some seconds, then climbs to the whole budget', () => {
    const state = { share: 0.35, recoversFromMs: NOW }
    const after = (seconds: number) => shareAt(state, NOW + seconds * 1000)

    expect(shareAt(state, NOW - 1_000)).toBeCloseTo(0.35)
    expect(
      [0, 5, 10, 13, 16, 20, 30, 34, 1_000].map(after).map((share) => share.toFixed(2)),
    ).toEqual(['0.35', '0.46', '0.50', '0.50', '0.50', '0.52', '0.80', '1.00', '1.00'])
  })

  it('is always above 0 and at most 1, and no pause is too long or shortened', () => {
    const hints = fc.array(
      fc.record({
        afterMs: fc.nat(20_000),
        retryAfterMs: fc.option(fc.nat(2_000_000), { nil: undefined }),
        lowersBudget: fc.boolean(),
        madeAtMs: fc.integer({ min: NOW - 20_000, max: NOW + 1_000_000 }),
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
