import { describe, expect, it } from 'vitest'
import {
  canSnooze,
  type SnoozeLimits,
  snoozeMs,
} from '../../../src/platform/queue/job-processor.ts'

const HOUR_MS = 3_600_000
const limits: SnoozeLimits = {
  snoozeForMs: 6 * HOUR_MS,
  maxStartedAttempts: 15,
  retryBackoff: { baseMs: 30_000, maxMs: 600_000 },
}
const job = (attempts: { made?: number; started?: number } = {}, ageMs = 0) => ({
  ageMs,
  attempts: { allowed: 8, made: 0, started: 1, ...attempts },
})
const wait = (waitMs: number, random = 1) => ({ waitMs, limits, random: () => random })

describe('a snoozed job', () => {
  it('waits for the requested time', () => {
    expect(snoozeMs(job(), wait(30_000))).toBe(30_000)
    expect(snoozeMs(job({ made: 3, started: 4 }), wait(30_000))).toBe(30_000)
  })

  it('waits longer each time it is snoozed again, and never less than a second', () => {
    expect(snoozeMs(job(), wait(0))).toBe(1_000)
    expect(snoozeMs(job({ started: 2 }), wait(0))).toBe(30_000)
    expect(snoozeMs(job({ started: 4 }), wait(0))).toBe(120_000)
    expect(snoozeMs(job({ started: 60 }), wait(0, 0.5))).toBe(300_000)
    expect(snoozeMs(job({ started: 4 }), wait(900_000))).toBe(900_000)
  })

  it('waits no longer than the time that is left for snoozing', () => {
    expect(snoozeMs(job({}, 5 * HOUR_MS), wait(1e15))).toBe(HOUR_MS)
  })

  it('may be snoozed for a limited time and while its attempts have starts left', () => {
    expect(canSnooze(job(), limits)).toBe(true)
    expect(canSnooze(job({}, 6 * HOUR_MS - 1), limits)).toBe(true)
    expect(canSnooze(job({}, 6 * HOUR_MS), limits)).toBe(false)
    expect(canSnooze(job({ started: 7 }), limits)).toBe(true)
    expect(canSnooze(job({ started: 8 }), limits)).toBe(false)
    expect(canSnooze(job({ made: 7, started: 14 }), limits)).toBe(true)
    expect(canSnooze(job({ made: 7, started: 15 }), limits)).toBe(false)
  })
})
