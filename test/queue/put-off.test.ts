import { describe, expect, it } from 'vitest'
import { canBePutOff, type PutOffLimits, putOffMs } from '../../src/queue/put-off.ts'

const HOUR_MS = 3_600_000
const limits: PutOffLimits = {
  putOffForMs: 6 * HOUR_MS,
  maxStartedAttempts: 15,
  retryBackoff: { baseMs: 30_000, maxMs: 600_000 },
}
const job = (attempts: { made?: number; started?: number } = {}, ageMs = 0) => ({
  ageMs,
  attempts: { allowed: 8, made: 0, started: 1, ...attempts },
})
const wait = (waitMs: number, random = 1) => ({ waitMs, limits, random: () => random })

describe('a job that is put off', () => {
  it('waits as long as it was asked to', () => {
    expect(putOffMs(job(), wait(30_000))).toBe(30_000)
    expect(putOffMs(job({ made: 3, started: 4 }), wait(30_000))).toBe(30_000)
  })

  it('waits longer when it is put off again and again, and never less than a second', () => {
    expect(putOffMs(job(), wait(0))).toBe(1_000)
    expect(putOffMs(job({ started: 2 }), wait(0))).toBe(30_000)
    expect(putOffMs(job({ started: 4 }), wait(0))).toBe(120_000)
    expect(putOffMs(job({ started: 60 }), wait(0, 0.5))).toBe(300_000)
    expect(putOffMs(job({ started: 4 }), wait(900_000))).toBe(900_000)
  })

  it('waits no longer than it may be put off at all', () => {
    expect(putOffMs(job({}, 5 * HOUR_MS), wait(1e15))).toBe(HOUR_MS)
  })

  it('may be put off for a time, and while its attempts have starts left', () => {
    expect(canBePutOff(job(), limits)).toBe(true)
    expect(canBePutOff(job({}, 6 * HOUR_MS - 1), limits)).toBe(true)
    expect(canBePutOff(job({}, 6 * HOUR_MS), limits)).toBe(false)
    expect(canBePutOff(job({ started: 7 }), limits)).toBe(true)
    expect(canBePutOff(job({ started: 8 }), limits)).toBe(false)
    expect(canBePutOff(job({ made: 7, started: 14 }), limits)).toBe(true)
    expect(canBePutOff(job({ made: 7, started: 15 }), limits)).toBe(false)
  })
})
