import { describe, expect, it } from 'vitest'
import {
  delayRatios,
  type Pair,
  pairsOf,
  type RandomWorld,
  randomWorld,
} from '../../bench/schedule/random-resellers.ts'
import { type KnownFare, Resellers } from '../../bench/schedule/resellers.ts'

const SEEDS = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]
const LIMITS = { longestSeconds: null, shortestSeconds: 1 }
const WORTH = { value: 1, changesPerDay: 1 }

/** Equal fares of one reseller, with ids from `from` on. */
function faresOf(reseller: number, count: number, from: number): KnownFare[] {
  return Array.from({ length: count }, (_, i) => {
    return { id: from + i, wants: [{ ...LIMITS, reseller, weight: 1 }], worth: WORTH }
  })
}

/** The mean and the longest interval of fares since the count began. */
function intervalsOf(resellers: Resellers, fares: readonly KnownFare[]) {
  const all = fares.map(({ id }) => resellers.intervalsOf(id)).filter(({ count }) => count > 0)
  return {
    fares: all.length,
    mean: all.reduce((sum, { mean }) => sum + mean, 0) / all.length,
    longest: Math.max(...all.map(({ longest }) => longest)),
  }
}

/** Longest delays are kept, and shortest intervals where these are longer. */
function expectKept({ args }: RandomWorld, pairs: readonly Pair[]): void {
  for (const { want, together } of pairs) {
    if (want.longestSeconds === null) continue
    const bound = Math.max(want.longestSeconds, want.shortestSeconds)
    expect(together.mean).toBeLessThan(1.01 * bound + 2 / args.requestsPerSecond)
  }
}

/** Counts what follows from now on, for some time. */
function countFor(resellers: Resellers, seconds: number): Resellers {
  resellers.startCounting()
  resellers.run(seconds)
  return resellers
}

describe('random worlds of 2 to 13 resellers', () => {
  it.each(SEEDS)(
    'no fare waits longer than if its reseller were alone, and no longest delay (seed %i)',
    (seed) => {
      const world = randomWorld(seed, { inLanes: false })

      const { pairs, used } = pairsOf(world, 60)

      const ratios = pairs.map(({ together, alone }) => together.mean / alone.mean)
      ratios.sort((a, b) => a - b)
      expect(ratios[ratios.length >> 1]).toBeLessThanOrEqual(1.002)
      // Alone, what fares leave unused inside their shortest intervals makes the others a little faster.
      expect(ratios.at(-1)).toBeLessThan(1.03)
      expectKept(world, pairs)
      expect(used).toBeGreaterThan(0.999)
    },
  )

  it.each(SEEDS)('a reseller pays for its own checks in lanes alone (seed %i)', (seed) => {
    const world = randomWorld(seed, { inLanes: true })

    const { pairs, used } = pairsOf(world, 60)

    expect(Math.max(...delayRatios(pairs))).toBeLessThan(1.02)
    expectKept(world, pairs)
    expect(used).toBeGreaterThan(0.999)
  })
})

describe('a reseller next to another', () => {
  /** 100 fares of A, and some of B, at 5 checks a second each: A alone checks each fare every 20 s. */
  function twoResellers({ others, shares = [1, 1] }: { others: number; shares?: number[] }) {
    const resellers = new Resellers({ requestsPerSecond: 10, shares })
    const [own, theirs] = [faresOf(0, 100, 0), faresOf(1, others, 1_000)]
    for (const fare of [...own, ...theirs]) resellers.add(fare)
    resellers.run(3_600)
    return { resellers, own, theirs }
  }

  it('fares that another shares are checked at the sum of both', () => {
    const resellers = new Resellers({ requestsPerSecond: 6, shares: [1, 1] })
    const own = faresOf(1, 500, 50)
    const shared = faresOf(0, 50, 0).map((fare) => {
      return { ...fare, wants: [...fare.wants, { ...LIMITS, reseller: 1, weight: 1 }] }
    })
    for (const fare of [...shared, ...own]) resellers.add(fare)
    resellers.run(2_000)

    countFor(resellers, 4_000)

    expect(intervalsOf(resellers, shared).mean).toBeCloseTo(15.28, 1)
    expect(intervalsOf(resellers, own).mean).toBeCloseTo(183.3, 0)
  })

  it('an import of 10,000 fares delays no fare of another', () => {
    const { resellers, own } = twoResellers({ others: 100 })

    for (const fare of faresOf(1, 10_000, 2_000)) resellers.add(fare)
    countFor(resellers, 7_200)

    const { mean, longest } = intervalsOf(resellers, own)
    expect(mean).toBeLessThan(20.1)
    expect(longest).toBeLessThan(30)
  })

  it('fares that stay when most are removed are soon checked as often as alone', () => {
    const { resellers, own } = twoResellers({ others: 100 })
    for (const fare of faresOf(0, 9_900, 2_000)) resellers.add(fare)
    resellers.run(6_000)

    for (let id = 2_000; id < 11_900; id += 1) resellers.remove(id)
    resellers.run(60 + 20)
    countFor(resellers, 60)

    for (const { id } of own) expect(resellers.checkedAtOf(id)).toBeGreaterThan(resellers.now - 30)
    expect(intervalsOf(countFor(resellers, 600), own).mean).toBeCloseTo(20, 0)
  })

  it('a reseller that removes its watches and adds them again all the time delays no other', () => {
    const { resellers, own } = twoResellers({ others: 1_000 })

    for (let round = 0; round < 120; round += 1) {
      // It takes minutes until the first checks are charged.
      if (round === 20) resellers.startCounting()
      const [from, before] = [2_000 + 500 * round, 1_500 + 500 * round]
      for (const fare of faresOf(1, 500, from)) resellers.add(fare)
      for (let id = before; round > 0 && id < from; id += 1) resellers.remove(id)
      resellers.run(30)
    }

    const { mean, longest } = intervalsOf(resellers, own)
    expect(mean).toBeLessThan(20.2)
    // Each change of a pace by a tenth leaves the fares of that reseller a little less even.
    expect(longest).toBeLessThan(35)
  })

  it('a share that changes counts from the next minute on', () => {
    const { resellers, own, theirs } = twoResellers({ others: 100 })

    resellers.paced.setShare(0, 4)
    resellers.run(60 + 20)
    countFor(resellers, 1_000)

    expect(intervalsOf(resellers, own).mean).toBeCloseTo(100 / 8, 0)
    expect(intervalsOf(resellers, theirs).mean).toBeCloseTo(100 / 2, 0)
  })

  it('a budget that drops makes all intervals longer alike, and those of before return with it', () => {
    const { resellers, own, theirs } = twoResellers({ others: 300 })

    resellers.startCounting()
    resellers.run(2_400, 2.5)
    const [slow, slowTheirs] = [intervalsOf(resellers, own), intervalsOf(resellers, theirs)]
    resellers.run(60)
    countFor(resellers, 1_200)

    // The first of these intervals began before.
    expect(slow.mean).toBeCloseTo(79, 0)
    expect(slowTheirs.mean).toBeCloseTo(234, -1)
    const after = intervalsOf(resellers, own)
    expect(after.mean).toBeCloseTo(20, 0)
    expect(after.longest).toBeLessThan(30)
  })

  it('after an outage the fares are checked in their order, each once', () => {
    const { resellers, own, theirs } = twoResellers({ others: 300 })

    resellers.run(600, 0)
    countFor(resellers, 61)

    expect(intervalsOf(resellers, own)).toMatchObject({ fares: 100 })
    expect(intervalsOf(resellers, own).longest).toBeLessThan(600 + 30)
    expect(intervalsOf(resellers, theirs)).toMatchObject({ fares: 300 })
    expect(resellers.used).toBe(610)
  })
})
