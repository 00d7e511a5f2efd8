import { describe, expect, it } from 'vitest'
import { findMissing } from '../../src/app/liveness.ts'

const at = (seconds: number) => new Date(Date.UTC(2026, 0, 1) + seconds * 1000)
const tick = (seconds: number) => ({
  missing: 'no tick has ended',
  lastAt: at(seconds),
  limitMs: 60_000,
})
const poll = (seconds: number) => ({
  missing: 'the queue was not polled',
  lastAt: at(seconds),
  limitMs: 30_000,
})

describe('a process with workers', () => {
  it.each([
    ['has no heartbeats', [], { now: 1e9, storesUpSince: 0 }, null],
    ['has all within their limits', [tick(0), poll(50)], { now: 60, storesUpSince: 0 }, null],
    [
      'misses one for too long',
      [poll(50), tick(0)],
      { now: 61, storesUpSince: -100 },
      'no tick has ended for 61 s although the stores are available',
    ],
    ['had no stores till now', [tick(0), poll(0)], { now: 600, storesUpSince: 571 }, null],
    [
      'had no stores till long ago',
      [tick(0), poll(0)],
      { now: 602, storesUpSince: 571 },
      'the queue was not polled for 602 s although the stores are available',
    ],
  ])('that %s makes progress, or names what is missing', (_, beats, times, missing) => {
    const { now, storesUpSince } = times
    expect(findMissing(beats, { now: at(now), storesUpSince: at(storesUpSince) })).toBe(missing)
  })
})
