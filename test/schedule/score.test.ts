import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  afterChange,
  changesPerDay,
  eventValue,
  expectedChanges,
  type FareMemory,
  followingOf,
  learn,
  NEW_FARE,
  NOTHING_KNOWN,
  sumLessons,
} from '../../src/schedule/score.ts'

const HOUR = 3_600
const DAY = 24 * HOUR
const STILL = { state: 'available', changed: false, value: 0 } as const

/** What all fares show, after these changes soon after another, and those that were expected. */
function known(found: number, expected: number) {
  return { ...NOTHING_KNOWN, soon: { found, expected } }
}

/** A fare that was available at the start. */
const SEEN: FareMemory = learn(NOTHING_KNOWN, NEW_FARE, { ...STILL, at: 0 }).memory

describe('the value of a change', () => {
  it('a reopening is worth more than a sell-out, and a sell-out more than a price', () => {
    expect(eventValue(['price_changed', 'became_available'])).toBe(5)
    expect(eventValue(['became_unavailable'])).toBe(2)
    expect(eventValue(['price_changed'])).toBe(1)
    expect(eventValue([])).toBe(0)
  })

  it('the first record of a fare is worth nothing: it is no change', () => {
    expect(eventValue(['first_seen'])).toBe(0)
  })

  it('another site is worth nothing, and takes nothing from a change that comes with it', () => {
    expect(eventValue(['site_changed'])).toBe(0)
    expect(eventValue(['site_changed', 'price_changed'])).toBe(1)
  })

  it('the value of a state moves to the changes that end it, a twentieth of the way at each', () => {
    const sold = { at: DAY, state: 'unavailable', changed: true, value: 2 } as const

    const { memory } = learn(NOTHING_KNOWN, SEEN, sold)

    expect(memory.values).toEqual({ available: 1.1 + 0.05 * (2 - 1.1), unavailable: 5 })
    expect(learn(NOTHING_KNOWN, SEEN, { ...STILL, at: DAY }).memory.values.available).toBe(1.1)
  })
})

describe('the estimate of changes', () => {
  it('the true rate is the fixed point, however many changes an interval holds', () => {
    fc.assert(
      fc.property(fc.double({ min: 0.001, max: 20, noNaN: true }), (x) => {
        const foundShare = 1 - Math.exp(-x)
        expect(foundShare * expectedChanges(x)).toBeCloseTo(x, 9)
      }),
    )
  })

  it('an interval with a change counts as the changes that it is expected to hold', () => {
    const { memory, lesson } = learn(NOTHING_KNOWN, SEEN, { ...STILL, at: DAY, changed: true })

    expect(memory.rates.available).toEqual({ changes: expect.closeTo(1.5819767, 6), exposure: 1 })
    expect(lesson.rates.available).toEqual(memory.rates.available)
  })

  it('the first check of a fare shows its state alone', () => {
    const { memory, lesson } = learn(NOTHING_KNOWN, NEW_FARE, { ...STILL, at: DAY, changed: true })

    expect(memory.state).toBe('available')
    expect(memory.rates).toEqual(NEW_FARE.rates)
    expect(lesson).toEqual(NOTHING_KNOWN)
  })

  it('a check that is no later than the last one counts for nothing', () => {
    const { lesson } = learn(NOTHING_KNOWN, SEEN, { ...STILL, at: 0, changed: true })

    expect(lesson).toEqual(NOTHING_KNOWN)
  })

  it('thirty days later an observation counts e times less', () => {
    const rates = { ...SEEN.rates, available: { changes: 4, exposure: 8 } }

    const { memory } = learn(NOTHING_KNOWN, { ...SEEN, rates }, { ...STILL, at: 30 * DAY })

    expect(memory.rates.available.changes).toBeCloseTo(4 / Math.E, 9)
    expect(memory.rates.available.exposure).toBeCloseTo(30 + 8 / Math.E, 9)
  })

  it('a change counts for the state at the start of its interval', () => {
    const sold = { at: DAY, state: 'unavailable', changed: true, value: 2 } as const

    const { memory } = learn(NOTHING_KNOWN, SEEN, sold)

    expect(memory.state).toBe('unavailable')
    expect(memory.rates.available.changes).toBeGreaterThan(1)
    expect(memory.rates.unavailable).toEqual({ changes: 0, exposure: 0 })
  })

  it('a fare without checks has the rate of all fares, and one with many its own', () => {
    const rates = { ...NOTHING_KNOWN.rates, available: { changes: 298, exposure: 998 } }
    const all = { ...NOTHING_KNOWN, rates }
    const own = { ...SEEN.rates, available: { changes: 2_000, exposure: 1_000 } }

    expect(changesPerDay(all, SEEN, 0)).toBeCloseTo(0.3, 9)
    expect(changesPerDay(all, { ...SEEN, rates: own }, 0)).toBeCloseTo(2, 1)
    expect(changesPerDay(NOTHING_KNOWN, NEW_FARE, 0)).toBe(1)
  })

  it('an interval shows the same, whenever it begins', () => {
    const from = (start: number) => {
      const fare = { ...SEEN, countedAt: start }
      const { lesson, memory } = learn(NOTHING_KNOWN, fare, {
        ...STILL,
        at: start + HOUR,
        changed: true,
      })
      return { lesson, rates: memory.rates }
    }

    expect(from(9 * DAY)).toEqual(from(0))
  })

  it('the sum of lessons is that of their parts', () => {
    const one = learn(known(9, 1), { ...SEEN, changedAt: 0 }, { ...STILL, at: HOUR, changed: true })
    const sum = sumLessons([one.lesson, NOTHING_KNOWN, one.lesson])

    const { changes } = one.lesson.rates.available
    expect(changes).toBeGreaterThan(1)
    expect(sum.rates.available).toEqual({
      changes: 2 * changes,
      exposure: expect.closeTo(2 / 24, 9),
    })
    expect(sum.soon).toEqual({ found: 2, expected: 2 * one.lesson.soon.expected })
  })
})

describe('what follows a change', () => {
  it('the factor of all fares is zero at first, and six at most', () => {
    expect(followingOf(NOTHING_KNOWN)).toBe(0)
    expect(followingOf(known(0, 100))).toBe(0)
    expect(followingOf(known(95, 45))).toBeCloseTo(1 / 0.63, 9)
    expect(followingOf(known(1e6, 1))).toBe(6)
  })

  it('a fare is expected to change again soon after a change, e times less after four hours', () => {
    const fare = { ...SEEN, changedAt: HOUR }

    expect(afterChange(known(95, 45), SEEN, HOUR)).toBe(1)
    expect(afterChange(known(95, 45), fare, HOUR)).toBeCloseTo(1 + 1 / 0.63, 9)
    expect(afterChange(known(95, 45), fare, 5 * HOUR)).toBeCloseTo(1 + 1 / 0.63 / Math.E, 9)
    expect(changesPerDay(known(95, 45), fare, HOUR)).toBeCloseTo(1 + 1 / 0.63, 9)
  })

  it('only the part of an interval within four hours of a change shows what follows', () => {
    const fare = { ...SEEN, changedAt: 0, countedAt: 3 * HOUR }
    const soonAt = (at: number, changed: boolean) =>
      learn(NOTHING_KNOWN, fare, { ...STILL, at, changed }).lesson.soon

    const anHour = 1 - Math.exp(-1 / 24)
    expect(soonAt(4 * HOUR, true)).toEqual({ found: 1, expected: expect.closeTo(anHour, 9) })
    expect(soonAt(4 * HOUR, false)).toEqual({ found: 0, expected: expect.closeTo(anHour, 9) })
    // When in this interval it changed is unknown.
    expect(soonAt(9 * HOUR, true)).toEqual({ found: 0, expected: expect.closeTo(anHour, 9) })
    const late = { ...fare, countedAt: 5 * HOUR }
    const { lesson } = learn(NOTHING_KNOWN, late, { ...STILL, at: 6 * HOUR, changed: true })
    expect(lesson.soon).toEqual({ found: 0, expected: 0 })
  })
})
