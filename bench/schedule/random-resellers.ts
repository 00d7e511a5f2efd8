import type { Want } from './paced-queue.ts'
import { createRandom, type Random } from './random.ts'
import {
  alone,
  type Intervals,
  type KnownFare,
  Resellers,
  type ResellersArgs,
} from './resellers.ts'

const SHARES = [0.25, 1, 1, 4]
/** Fares with fewer intervals are not compared: their means depend on where the run ends. */
const LEAST_COUNT = 10
/** The parts of its share that the longest delays of a reseller need. */
const PROMISES = [0, 0, 0.3, 0.7]

export interface RandomWorld {
  readonly args: ResellersArgs
  readonly fares: readonly KnownFare[]
}

/** 2 to 13 resellers, most fares with one of them, a third with more; some with longest delays, and with shortest intervals. */
export function randomWorld(seed: number, { inLanes }: { readonly inLanes: boolean }): RandomWorld {
  const random = createRandom(seed)
  const pick = <T>(of: readonly [T, ...T[]]) =>
    of[Math.floor(of.length * random.uniform())] ?? of[0]
  const count = 2 + Math.floor(12 * random.uniform())
  const shares = Array.from({ length: count }, () => SHARES[Math.floor(4 * random.uniform())] ?? 1)
  const size = 100 + Math.floor(200 * random.uniform())
  const requestsPerSecond = size / (20 + 60 * random.uniform())
  const shortest = pick([1, 5, 30])
  const made = Array.from({ length: size }, (_, id): KnownFare => {
    const resellers = new Set([id < count ? id : Math.floor(count * random.uniform())])
    while (random.uniform() < 0.3) resellers.add(Math.floor(count * random.uniform()))
    const wants = [...resellers].map((reseller): Want => {
      const shortestSeconds = random.uniform() < 0.3 ? shortest * (1 + 3 * random.uniform()) : 1
      return { reseller, weight: pick([1, 1, 2, 5]), longestSeconds: null, shortestSeconds }
    })
    return { id, wants, worth: { value: 1, changesPerDay: random.gamma(1) } }
  })
  const lanes = inLanes ? { confirmEvery: 10, retryEvery: 10 } : {}
  const args = { requestsPerSecond, shares, ...lanes }
  return { args, fares: withLongest(made, args, random) }
}

/** A third of the fares of some resellers have a longest delay, which need together up to seven tenths of the share. */
function withLongest(
  fares: readonly KnownFare[],
  { shares, requestsPerSecond }: ResellersArgs,
  random: Random,
): KnownFare[] {
  const all = shares.reduce((a, b) => a + b, 0)
  const isBounded = ({ id }: KnownFare) => id % 3 === 0
  const delays = shares.map((share, reseller) => {
    const bounded = fares.filter(
      (fare) => isBounded(fare) && fare.wants.some((want) => want.reseller === reseller),
    )
    const promised = PROMISES[Math.floor(PROMISES.length * random.uniform())] ?? 0
    const checksPerSecond = (promised * share * requestsPerSecond) / all
    return checksPerSecond > 0 ? Math.ceil(bounded.length / checksPerSecond) : null
  })
  return fares.map((fare) => {
    if (!isBounded(fare)) return fare
    const wants = fare.wants.map((want) => {
      return { ...want, longestSeconds: delays[want.reseller] ?? null }
    })
    return { ...fare, wants }
  })
}

/** Runs a world until its rates have been followed, then as long as to check every fare `rounds` times. */
export function runWorld({ args, fares }: RandomWorld, rounds: number): Resellers {
  const resellers = new Resellers(args)
  for (const fare of fares) resellers.add(fare)
  const roundSeconds = fares.length / args.requestsPerSecond
  resellers.run(Math.max(20 * roundSeconds, 3_600))
  resellers.startCounting()
  resellers.run(rounds * roundSeconds)
  return resellers
}

/** One reseller's view of one fare: with the others, and alone with its part of the budget. */
export interface Pair {
  readonly fare: KnownFare
  readonly want: Want
  readonly together: Intervals
  readonly alone: Intervals
}

export function pairsOf(world: RandomWorld, rounds: number): { pairs: Pair[]; used: number } {
  const together = runWorld(world, rounds)
  const pairs = world.args.shares.flatMap((_, reseller) => {
    const own = alone(world.args, world.fares, reseller)
    if (own.fares.length === 0) return []
    const run = runWorld(own, rounds)
    return own.fares.flatMap(({ id, wants: [want] }): Pair[] => {
      const fare = world.fares[id]
      if (fare === undefined || want === undefined) return []
      const pair = { fare, want, together: together.intervalsOf(id), alone: run.intervalsOf(id) }
      return pair.together.count >= LEAST_COUNT && pair.alone.count >= LEAST_COUNT ? [pair] : []
    })
  })
  return { pairs, used: together.used / together.slots }
}

/** The mean delay of each reseller's changes, together by alone. */
export function delayRatios(pairs: readonly Pair[]): number[] {
  return [...Map.groupBy(pairs, ({ want }) => want.reseller).values()].map((own) => {
    const sum = (of: (pair: Pair) => Intervals) =>
      own.reduce((total, pair) => {
        const { weight } = pair.want
        return total + weight * pair.fare.worth.changesPerDay * of(pair).delay
      }, 0)
    return sum((pair) => pair.together) / sum((pair) => pair.alone)
  })
}
