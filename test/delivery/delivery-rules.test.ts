import { describe, expect, it } from 'vitest'
import {
  type EndpointHealth,
  healthAfter,
  retryPauseMs,
} from '../../src/delivery/dispatch/delivery-rules.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const middle = () => 0.5

describe('the pause before a retry', () => {
  it('follows the schedule, and is ten hours after its end', () => {
    const pauses = Array.from({ length: 9 }, (_, i) =>
      retryPauseMs({ attempts: i + 1, retryAfterMs: undefined }, middle),
    )

    expect(pauses).toEqual([
      5_000,
      5 * MINUTE,
      30 * MINUTE,
      2 * HOUR,
      5 * HOUR,
      10 * HOUR,
      10 * HOUR,
      10 * HOUR,
      10 * HOUR,
    ])
  })

  it('varies by a tenth in both directions', () => {
    const failed = { attempts: 2, retryAfterMs: undefined }

    expect(retryPauseMs(failed, () => 0)).toBe(4.5 * MINUTE)
    expect(retryPauseMs(failed, () => 1)).toBe(5.5 * MINUTE)
  })

  it('is as long as the receiver requested, if that is longer, up to a day', () => {
    const pause = (retryAfterMs: number) => retryPauseMs({ attempts: 1, retryAfterMs }, middle)

    expect([pause(1_000), pause(HOUR), pause(100 * HOUR)]).toEqual([5_000, HOUR, 24 * HOUR])
  })
})

const NEW: EndpointHealth = {
  failures: 0,
  failingSinceMs: null,
  openUntilMs: null,
  heldUntilMs: null,
  lastSuccessAtMs: null,
}

describe('the health of an endpoint', () => {
  it('opens its circuit breaker at the fifth failure in a row, for twice as long at each further one', () => {
    const opened: (number | null)[] = []
    let health = NEW
    for (let i = 0; i < 11; i += 1) {
      health = healthAfter(health, { succeeded: false, nowMs: 1_000 + i })
      opened.push(health.openUntilMs === null ? null : health.openUntilMs - 1_000 - i)
    }

    expect(opened.slice(0, 4)).toEqual([null, null, null, null])
    expect(opened.slice(4)).toEqual([30, 60, 120, 240, 480, 600, 600].map((s) => s * 1_000))
    expect(health).toMatchObject({ failures: 11, failingSinceMs: 1_000 })
  })

  it('is good again after one success', () => {
    const failing = { ...NEW, failures: 7, failingSinceMs: 1, openUntilMs: 2, lastSuccessAtMs: 0 }

    expect(healthAfter(failing, { succeeded: true, nowMs: 9 })).toEqual({
      ...NEW,
      lastSuccessAtMs: 9,
    })
  })

  it('is held for the pause that its receiver requests, up to a day, also if another request succeeds', () => {
    const held = (retryAfterMs: number) =>
      healthAfter(NEW, { succeeded: false, retryAfterMs, nowMs: 1_000 })

    expect(held(60_000).heldUntilMs).toBe(61_000)
    expect(held(100 * HOUR).heldUntilMs).toBe(1_000 + 24 * HOUR)
    expect(healthAfter(held(60_000), { succeeded: true, nowMs: 2_000 })).toMatchObject({
      failures: 0,
      heldUntilMs: 61_000,
    })
    const again = { succeeded: false, retryAfterMs: 1_000, nowMs: 3_000 }
    expect(healthAfter(held(60_000), again).heldUntilMs).toBe(61_000)
  })

  it('is not written again for every success', () => {
    const good = { ...NEW, lastSuccessAtMs: 100_000 }

    expect(healthAfter(good, { succeeded: true, nowMs: 105_000 })).toBe(good)
    expect(healthAfter(good, { succeeded: true, nowMs: 110_000 }).lastSuccessAtMs).toBe(110_000)
  })
})
