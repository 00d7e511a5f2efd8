import { describe, expect, it } from 'vitest'
import { budgetFor, expectedDelays, planBudget } from '../../src/schedule/budget.ts'

const EVEN = [{ fares: 600, rate: 1, minIntervalSeconds: 60, changesPerDay: 600 }]

describe('the plan of a budget', () => {
  it('equal fares have the delays of the plan at the budget of the plan', () => {
    const { requestsPerSecond, p50Seconds } = planBudget({ fares: 600, delaySeconds: 95 })

    const delays = expectedDelays(EVEN, requestsPerSecond)

    expect(delays?.p95Seconds).toBeCloseTo(95, 6)
    expect(delays?.p50Seconds).toBeCloseTo(p50Seconds, 6)
    expect(budgetFor(EVEN, 95)).toBeCloseTo(requestsPerSecond, 6)
  })

  it('no fare is checked sooner than its minimum interval, whatever the budget', () => {
    expect(expectedDelays(EVEN, 1_000)?.p95Seconds).toBeCloseTo(57, 6)
    expect(budgetFor(EVEN, 56)).toBeNull()
    expect(budgetFor(EVEN, 57)).toBeCloseTo(10, 6)
  })

  it('what fares at their minimum interval leave unused goes to the others', () => {
    const groups = [
      { fares: 10, rate: 100, minIntervalSeconds: 100, changesPerDay: 0 },
      { fares: 90, rate: 1, minIntervalSeconds: 1, changesPerDay: 1 },
    ]

    // The first ten use 0.1 of the 1.0 checks a second, so the others are checked every 100 s.
    expect(expectedDelays(groups, 1)?.p95Seconds).toBeCloseTo(95, 6)
  })

  it('the delays agree with a simulation of the changes', () => {
    const groups = [
      { fares: 20, rate: 3, minIntervalSeconds: 1, changesPerDay: 60 },
      { fares: 50, rate: 1, minIntervalSeconds: 1, changesPerDay: 30 },
    ]
    // τ = Σ s / (s·B): 110 / 3 and 110. Each change lies at an even part of its interval.
    const delays = Array.from({ length: 9_000 }, (_, i) =>
      i < 6_000 ? (110 / 3) * (i / 6_000) : 110 * ((i - 6_000) / 3_000),
    ).sort((a, b) => a - b)

    const expected = expectedDelays(groups, 1)

    expect(expected?.p50Seconds).toBeCloseTo(delays[4_500] ?? 0, 0)
    expect(expected?.p95Seconds).toBeCloseTo(delays[8_550] ?? 0, 0)
  })
})
