import { describe, expect, it } from 'vitest'
import {
  CUT_PERCENTS,
  generateHistory,
  type ReplayReport,
  readHistory,
  replayGuard,
  reportText,
} from './guard-history.ts'

/** A folder with a real daily history of airport pairs; without it the tests generate one with the same daily losses. */
const FOLDER = process.env.LISTS_FOLDER
const HISTORY = FOLDER === undefined ? generateHistory(3) : readHistory(FOLDER)
const CUT_EVERY = FOLDER === undefined ? 10 : 1

/** The share of the cut lists that were held. */
function heldShare({ cuts }: ReplayReport, cut: string): number {
  const { held, of } = cuts[cut] ?? { held: 0, of: 0 }
  return held / of
}

describe('the guard over a year or more of accepted lists', { timeout: 600_000 }, () => {
  // Twice the largest loss of a real week is a little more than 2 %.
  it.each([
    { every: 'six hours', hours: 6, cutEvery: CUT_EVERY, least: 0.97 },
    { every: 'week', hours: 168, cutEvery: 1, least: 0.9 },
  ])(
    'with a list every $every it holds no true list, and almost every cut one',
    ({ every, hours, cutEvery, least }) => {
      const report = replayGuard(HISTORY, { hours, seed: 5, cutEvery })

      if (FOLDER !== undefined) process.stdout.write(`${reportText(`every ${every}`, report)}\n`)
      expect(report.years).toBeGreaterThan(1)
      expect(report.falseHolds).toEqual([])
      for (const percent of CUT_PERCENTS) {
        expect([percent, heldShare(report, `tail ${percent} %`)]).toEqual([percent, 1])
        for (const kind of percent < 2 ? [] : ['random', 'country']) {
          const enough = percent === 2 ? least : 1
          expect(heldShare(report, `${kind} ${percent} %`)).toBeGreaterThanOrEqual(enough)
        }
      }
    },
  )
})

describe('a generated history', () => {
  it('loses as much a day as a real network', () => {
    const { base, days } = generateHistory(3)
    const losses = days
      .slice(1)
      .map(({ removed }) => removed.length / base.length)
      .sort((a, b) => a - b)
    const quantile = (share: number) => losses[Math.floor(share * (losses.length - 1))] ?? 0

    expect(quantile(0.5)).toBeCloseTo(0.00008, 4)
    expect(quantile(0.99)).toBeGreaterThan(0.0006)
    expect(quantile(0.99)).toBeLessThan(0.0013)
    expect(quantile(1)).toBeCloseTo(0.0076, 3)
  })
})
