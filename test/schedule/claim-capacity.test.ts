import { describe, expect, it } from 'vitest'
import { createClaimCapacity, nextCapacity } from '../../src/schedule/claim-capacity.ts'

const IN_TIME = { seconds: 1, recorded: 0, late: 0, failed: 0, asked: 9_000 }

/** The capacity after a second of work, of which there was more than enough. */
function carriedAfter(
  perSecond: number,
  done: { recorded: number; late?: number; failed?: number; asked?: number },
) {
  const known = { perSecond, step: 0.1, goodPerSecond: 0 }
  return nextCapacity(known, { ...IN_TIME, ...done }).perSecond
}

describe('the capacity of a process', () => {
  it('is lowered below what was recorded when slots were late or a batch failed', () => {
    expect(carriedAfter(4_000, { recorded: 2_000, late: 100 })).toBe(1_800)
    expect(carriedAfter(4_000, { recorded: 2_000, failed: 1 })).toBe(1_800)
    expect(carriedAfter(1_000, { recorded: 2_000, failed: 1 })).toBe(900)
  })

  it('is lowered by half at most, because processes that start together record little, and never to nothing', () => {
    expect(carriedAfter(4_000, { recorded: 40, late: 9_000 })).toBe(1_800)
    expect(carriedAfter(60, { recorded: 0, failed: 9 })).toBe(50)
  })

  it('is raised while more is asked of it, by any process, and no further than what is asked', () => {
    expect(carriedAfter(1_000, { recorded: 980, late: 20 })).toBe(1_100)
    expect(carriedAfter(1_000, { recorded: 20 })).toBe(1_100)
    expect(carriedAfter(1_000, { recorded: 950, asked: 1_050 })).toBe(1_050)
    expect(carriedAfter(1_000, { recorded: 950, asked: 1_000 })).toBe(1_000)
  })

  it('doubles at first, until a window has shown its limit', () => {
    const first = { perSecond: 1_000, step: 1, goodPerSecond: 0 }
    const doubled = nextCapacity(first, { ...IN_TIME, seconds: 2, recorded: 2_000 })
    const limited = nextCapacity(doubled, { ...IN_TIME, seconds: 2, recorded: 3_000, late: 500 })

    expect(doubled).toMatchObject({ perSecond: 2_000, step: 1 })
    expect(limited).toMatchObject({ perSecond: 1_350, step: 0.1 })
  })

  it('is lowered to what was in time before, and then to what was recorded although slots were late', () => {
    const first = { perSecond: 4_000, step: 1, goodPerSecond: 2_000 }
    const late = { ...IN_TIME, recorded: 1_000, late: 900 }

    const lowered = nextCapacity(first, late)
    const again = nextCapacity(lowered, late)

    expect(lowered.perSecond).toBe(1_800)
    expect(again.perSecond).toBe(900)
  })

  it('is lowered once for claims from before it was lowered', () => {
    let nowMs = 0
    const capacity = createClaimCapacity(() => nowMs)
    const pass = (ms: number, batch: { recorded: number; late: number }) => {
      capacity.onBatch(batch)
      nowMs += ms
      return capacity.perSecond(9_000)
    }

    expect(pass(1_000, { recorded: 500, late: 500 })).toBe(1_000)
    expect(pass(1_000, { recorded: 500, late: 500 })).toBe(450)
    expect(pass(2_000, { recorded: 600, late: 300 })).toBe(450)
    expect(pass(2_000, { recorded: 900, late: 0 })).toBeCloseTo(495)
    expect(pass(2_000, { recorded: 800, late: 300 })).toBeCloseTo(405)
  })

  it('is lowered when a batch fails, once a window has passed, and stays while nothing is done', () => {
    let nowMs = 5_000
    const capacity = createClaimCapacity(() => nowMs)
    const passSeconds = (seconds: number) => {
      nowMs += seconds * 1_000
      return capacity.perSecond(9_000)
    }

    capacity.onFailure()

    expect([1, 1, 10].map(passSeconds)).toEqual([1_000, 450, 450])
  })

  it('climbs in steps that grow, so that a disturbance costs seconds', () => {
    const before = { perSecond: 2_000, step: 0.1, goodPerSecond: 2_000 }
    const disturbed = { ...IN_TIME, late: 400 }
    let capacity = [1, 2, 3, 4].reduce((known) => nextCapacity(known, disturbed), before)
    const seen: number[] = []

    while (capacity.perSecond < before.perSecond) {
      seen.push(Math.round(capacity.perSecond))
      const inTime = { ...IN_TIME, recorded: capacity.perSecond }
      capacity = nextCapacity(capacity, inTime)
    }

    expect(seen).toEqual([164, 180, 207, 254, 340, 512, 901, 1_802])
  })

  it('converges to what a process carries, whatever is asked of it', () => {
    let nowMs = 0
    const capacity = createClaimCapacity(() => nowMs)
    const carried = 3_000
    const seen: number[] = []

    for (let second = 0; second < 200; second += 1) {
      const claimed = Math.min(8_000, capacity.perSecond(8_000))
      // What is late costs time too.
      const late = Math.max(0, claimed - carried)
      capacity.onBatch({ recorded: Math.max(0, Math.min(claimed, carried - 0.5 * late)), late })
      nowMs += 1_000
      if (second > 30) seen.push(claimed)
    }

    expect(Math.min(...seen)).toBeGreaterThan(0.8 * carried)
    expect(Math.max(...seen)).toBeLessThan(1.15 * carried)
  })
})
