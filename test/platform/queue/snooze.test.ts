import { describe, expect, it } from 'vitest'
import { snoozeMs } from '../../../src/platform/queue/job-processor.ts'

const HOUR_MS = 3_600_000
const retryBackoff = { baseMs: 30_000, maxMs: 600_000 }
const pace = (before: number, random = 1) => ({
  before,
  ageMs: 0,
  retryBackoff,
  random: () => random,
})

describe('a snoozed job', () => {
  it('waits for the requested time', () => {
    expect(snoozeMs(30_000, pace(0))).toBe(30_000)
  })

  it('waits longer each time it is snoozed again, and never less than a second', () => {
    expect(snoozeMs(0, pace(0))).toBe(1_000)
    expect(snoozeMs(0, pace(1))).toBe(30_000)
    expect(snoozeMs(0, pace(3))).toBe(120_000)
    expect(snoozeMs(0, pace(60, 0.5))).toBe(300_000)
    expect(snoozeMs(900_000, pace(3))).toBe(900_000)
  })

  it('waits no longer than the time that is left for snoozing', () => {
    expect(snoozeMs(1e15, { ...pace(0), ageMs: 5 * HOUR_MS })).toBe(HOUR_MS)
  })
})
