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
  it('is alive while all heartbeats are within their limits', () => {
    expect(findMissing([tick(0), poll(50)], { now: at(60), storesUpSince: at(0) })).toBeNull()
  })

  it('makes no progress when one heartbeat is missing for too long, and the reason names it', () => {
    expect(findMissing([poll(50), tick(0)], { now: at(61), storesUpSince: at(-100) })).toBe(
      'no tick has ended for 61 s although the stores are available',
    )
  })

  it('is not blamed for the time in which a store was down', () => {
    const heartbeats = [tick(0), poll(0)]

    expect(findMissing(heartbeats, { now: at(600), storesUpSince: at(571) })).toBeNull()
    expect(findMissing(heartbeats, { now: at(602), storesUpSince: at(571) })).toBe(
      'the queue was not polled for 602 s although the stores are available',
    )
  })

  it('is alive if it has no heartbeats', () => {
    expect(findMissing([], { now: at(1e9), storesUpSince: at(0) })).toBeNull()
  })
})
