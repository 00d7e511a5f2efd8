import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { CONTENDERS } from '../../bench/schedule/contenders.ts'
import { simulate } from '../../bench/schedule/simulate.ts'
import { fares, hashOf } from '../../bench/schedule/worlds.ts'
import {
  bucketOf,
  createFactorTable,
  factorOf,
  learnFactor,
  segmentsOf,
} from '../../src/schedule/policy/factors.ts'
import { learnCheck } from '../../src/schedule/policy/learn-check.ts'
import {
  divideBudget,
  eventValue,
  rateFor,
  scoreOf,
  solvePace,
} from '../../src/schedule/policy/pace.ts'
import {
  changesPerDay,
  createRateModel,
  expectedChanges,
  NEW_FARE,
  NO_EXPOSURE,
  observeInterval,
  rateOf,
} from '../../src/schedule/policy/rate-model.ts'
import { dueAfterCheck, dueAtJoin } from '../../src/schedule/policy/virtual-time.ts'

const DAY = 86_400

describe('the estimator', () => {
  it('the true rate is the fixed point of the update, however many changes an interval holds', () => {
    fc.assert(
      fc.property(fc.double({ min: 0.001, max: 20, noNaN: true }), (x) => {
        const foundShare = 1 - Math.exp(-x)
        expect(foundShare * expectedChanges(x)).toBeCloseTo(x, 9)
      }),
    )
  })

  it('an interval with a change counts as the changes that it is expected to hold', () => {
    const interval = { change: 1, exposure: 1, elapsedDays: 0, rate: 1 }

    expect(observeInterval(NO_EXPOSURE, interval).changes).toBeCloseTo(1.5819767, 6)
    expect(observeInterval(NO_EXPOSURE, { ...interval, rate: 1e-12 }).changes).toBe(1)
  })

  it('thirty days later an observation counts e times less', () => {
    const old = { changes: 4, exposure: 8 }

    const now = observeInterval(old, { change: 0, exposure: 0, elapsedDays: 30, rate: 1 })

    expect(now.changes).toBeCloseTo(4 / Math.E, 9)
    expect(now.exposure).toBeCloseTo(8 / Math.E, 9)
  })

  it('the rate of a fare without checks is the prior rate, and that of many checks its own', () => {
    expect(rateOf(NO_EXPOSURE, 0.3)).toBeCloseTo(0.3, 9)
    expect(rateOf({ changes: 2_000, exposure: 1_000 }, 0.3)).toBeCloseTo(2, 1)
  })
})

describe('a score', () => {
  it('a score is the root of weight, value and rate', () => {
    expect(scoreOf({ weight: 4, value: 5, changesPerDay: 0.45 }, 100)).toBeCloseTo(3, 9)
  })

  it('a fare counts at most the changes that its checks can follow', () => {
    expect(scoreOf({ weight: 1, value: 1, changesPerDay: 1_000 }, 9)).toBe(3)
  })

  it('a rate that is no positive number counts as one change a day, and the score stays a number', () => {
    const rates = [Number.NaN, Number.POSITIVE_INFINITY, -3, 0]

    expect(
      rates.map((changesPerDay) => scoreOf({ weight: 4, value: 1, changesPerDay }, 100)),
    ).toEqual([2, 2, 2, 2])
  })

  it('a reopening is worth more than a sell-out, and a sell-out more than a price', () => {
    expect(eventValue(['price_changed', 'became_available'])).toBe(5)
    expect(eventValue(['became_unavailable'])).toBe(2)
    expect(eventValue(['price_changed'])).toBe(1)
    expect(eventValue([])).toBe(0)
  })

  it('the first record of a fare is worth nothing: it is no change', () => {
    expect(eventValue(['first_seen'])).toBe(0)
  })
})

const NO_LIMITS = { longestSeconds: null, shortestSeconds: 1 }

describe('a pace', () => {
  const limits = fc.record({
    fares: fc.integer({ min: 1, max: 50 }),
    score: fc.double({ min: 0.01, max: 100, noNaN: true }),
    longestSeconds: fc.option(fc.integer({ min: 1, max: 100_000 })),
    shortestSeconds: fc.integer({ min: 1, max: 3_600 }),
  })

  it('the rates of a reseller add up to its part, unless all its fares are at their shortest intervals', () => {
    fc.assert(
      fc.property(
        fc.array(limits, { minLength: 1, maxLength: 20 }),
        fc.double({ min: 0.001, max: 100, noNaN: true }),
        (groups, part) => {
          const pace = solvePace(groups, part)
          const used = groups.reduce((sum, group) => sum + group.fares * rateFor(pace, group), 0)
          const most = groups.reduce((sum, group) => sum + group.fares / group.shortestSeconds, 0)
          expect(used / Math.min(part, most)).toBeCloseTo(1, 6)
        },
      ),
    )
  })

  it('rates are in proportion to the scores, and the least is a fifth of that of the mean score', () => {
    const groups = [1, 2, 0.001].map((score) => ({ ...NO_LIMITS, fares: 1, score }))

    const pace = solvePace(groups, 1)

    const [one = 0, two, least] = groups.map((group) => rateFor(pace, group))
    expect(two).toBeCloseTo(2 * one, 6)
    expect(least).toBeCloseTo(0.2 * 1.0003333 * one, 6)
  })

  it('what lanes use is taken from other fares first, and longest intervals have nine tenths of the rest', () => {
    const bounded = { fares: 7, score: 1, longestSeconds: 10, shortestSeconds: 1 }
    const others = { ...NO_LIMITS, fares: 100, score: 100 }
    const rateAt = (left: number) => rateFor(solvePace([bounded, others], left, 1), bounded)

    expect(rateAt(0.8)).toBeCloseTo(0.1, 9)
    expect(rateAt(0.5)).toBeCloseTo((0.1 * 0.45) / 0.7, 9)
  })

  it('a longest interval below the shortest one counts as the shortest', () => {
    const group = { fares: 1, score: 1, longestSeconds: 1, shortestSeconds: 2 }

    expect(rateFor(solvePace([group], 0.001), group)).toBeCloseTo(0.001, 9)
  })

  it('a reseller has its share of the budget, less what it uses in lanes, and keeps a tenth of it', () => {
    const claimants = [
      { share: 1, inLanes: 0 },
      { share: 3, inLanes: 1 },
      { share: 4, inLanes: 9 },
    ]

    expect(divideBudget(claimants, 8)).toEqual([1, 2, 0.4])
  })
})

describe('virtual time', () => {
  it('a fare comes back one interval after it was due, however late its check was', () => {
    expect(dueAfterCheck({ vdue: 90, rate: 0.1 }, { v: 100, speed: 1 }, 1)).toBe(101)
    expect(dueAfterCheck({ vdue: 95, rate: 0.1 }, { v: 100, speed: 1 }, 1)).toBe(105)
  })

  it('a fare that is very late is checked once, not until it has caught up', () => {
    expect(dueAfterCheck({ vdue: -900, rate: 0.1 }, { v: 100, speed: 1 }, 1)).toBe(101)
  })

  it('a fare that joins again and again is due as often as one that stays', () => {
    const joins = Array.from({ length: 1_000 }, (_, i) => 10 * i)
    const due = (fareId: number) =>
      joins.filter((v) => dueAtJoin({ fareId, rate: 0.01 }, v) < v + 10).length

    for (const fareId of [1, 8, 987, 1_597]) expect(due(fareId) / 1_000).toBeCloseTo(0.1, 1)
  })
})

describe('a factor', () => {
  it('a factor is relative to its reference bucket and stays within its bounds', () => {
    const table = createFactorTable([1, 2], 2)
    learnFactor(table, 0, { expected: 10_000, observed: 80_000 })
    learnFactor(table, 2, { expected: 10_000, observed: 20_000 })

    expect(factorOf(table, 0)).toBeCloseTo(4, 2)
    expect(factorOf(table, 2)).toBe(1)
    learnFactor(table, 0, { expected: 0, observed: 1e9 })
    expect(factorOf(table, 0)).toBe(30)
    learnFactor(table, 1, { expected: 1e9, observed: 0 })
    expect(factorOf(table, 1)).toBe(0.2)
  })

  it('a bucket that has seen nothing has the factor of an ordinary time', () => {
    expect(factorOf(createFactorTable([1], 1), 0)).toBe(1)
  })

  it('a value on an edge belongs to the bucket below it', () => {
    expect([0, 1, 1.5, 2, 3].map((value) => bucketOf({ edges: [1, 2] }, value))).toEqual([
      0, 0, 1, 1, 2,
    ])
  })

  it('the segments of an interval cover it, and each has its own bucket', () => {
    fc.assert(
      fc.property(fc.nat(40 * DAY), fc.nat(40 * DAY), (changedAt, length) => {
        const [from, to] = [changedAt, changedAt + length]
        const segments = segmentsOf(changedAt, { from, to })
        const days = segments.reduce((sum, segment) => sum + segment.days, 0)
        expect(days * DAY).toBeCloseTo(to - from, 3)
        expect(new Set(segments.map(({ bucket }) => bucket)).size).toBe(segments.length)
      }),
    )
  })
})

describe('the rate model', () => {
  const first = { at: 0, state: 'available', changed: false, value: 0 } as const

  it('a change counts for the state at the start of its interval', () => {
    const model = createRateModel()
    const seen = learnCheck(model, NEW_FARE, { ...first, route: null })

    const lost = { ...first, at: DAY, state: 'unavailable', changed: true, value: 2 } as const
    const { rates, state } = learnCheck(model, seen, { ...lost, route: null })

    expect(state).toBe('unavailable')
    expect(rates.available.changes).toBeGreaterThan(1)
    expect(rates.unavailable).toEqual(NO_EXPOSURE)
  })

  it('the first lesson after a start adds to the loaded rates of all fares', () => {
    const model = createRateModel()
    model.all.available = { changes: 500, exposure: 1_000 }
    const at = 20_000 * DAY
    const seen = learnCheck(model, NEW_FARE, { ...first, at, route: null })

    learnCheck(model, seen, { ...first, at: at + DAY, route: null })

    expect(model.all.available.changes).toBe(500)
    expect(model.all.available.exposure).toBeGreaterThan(1_000)
  })

  it('the rate of a fare rises for some hours when its route changes, unless the factor is off', () => {
    const ratesOf = (surprise: boolean) => {
      const model = createRateModel({ recency: true, surprise })
      for (const bucket of [3, 4, 5, 6, 7]) {
        learnFactor(model.surprise.still, bucket, { expected: 100, observed: 1_000 })
      }
      for (let fare = 0; fare < 8; fare += 1) {
        const memory = learnCheck(model, NEW_FARE, { ...first, at: DAY - 3_600, route: 'a' })
        const hit = { ...first, at: DAY + fare * 60, changed: true, value: 1, route: 'a' }
        learnCheck(model, memory, hit)
      }
      const rateAt = (at: number) => changesPerDay(model, NEW_FARE, { at, route: 'a' })
      return { during: rateAt(DAY + 600), later: rateAt(2 * DAY) }
    }

    expect(ratesOf(true).during).toBeGreaterThan(5 * ratesOf(true).later)
    expect(ratesOf(false).during).toBe(ratesOf(false).later)
  })
})

describe('the simulation', () => {
  it('the same seed makes the same world', () => {
    const make = (seed: number) => hashOf(fares({ seed, size: 100, equalWeights: false }))

    expect(make(1)).toBe(make(1))
    expect(make(1)).not.toBe(make(2))
  })

  it('the policy detects the changes of fares sooner than round robin, and more slowly without its factors', () => {
    const world = { ...fares({ seed: 1, size: 200, equalWeights: false }), endsAt: 16 * DAY }
    const delayOf = (name: keyof typeof CONTENDERS) =>
      simulate(world, CONTENDERS[name](world.requestsPerSecond)).weighted

    expect(delayOf('ours')).toBeLessThan(0.6 * delayOf('round robin'))
    expect(delayOf('ours')).toBeLessThan(delayOf('ours without factors'))
  })
})
