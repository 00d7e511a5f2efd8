import type { Want } from './paced-queue.ts'
import { LearningPolicy } from './policies.ts'
import { createRandom } from './random.ts'
import { type KnownFare, Resellers } from './resellers.ts'
import { simulate } from './simulate.ts'
import { fares, VALUES, type World, type WorldFare } from './worlds.ts'

const SHARES = [1, 1, 4, 0.25]
/** The reseller whose fares have longest delays, and the part of its share that these need. */
const [BOUNDED, PROMISED] = [1, 0.5]
const SHORTEST_SECONDS = 60

/** The mean weighted delay of each reseller with the others, by that alone with its part of the budget. */
export function delaysToAlone({ seed, size }: { seed: number; size: number }): number[] {
  const world = fares({ seed, size, equalWeights: false })
  const wants = wantsOf(world, seed)
  const together = delaysOf(world, wants)
  const shares = SHARES.reduce((a, b) => a + b, 0)
  return SHARES.map((share, reseller) => {
    const own = wants.map((all) => all.filter((want) => want.reseller === reseller))
    const alone = {
      ...world,
      fares: world.fares.filter(({ id }) => own[id]?.length),
      requestsPerSecond: (share / shares) * world.requestsPerSecond,
    }
    return (together[reseller] ?? 0) / (delaysOf(alone, own)[reseller] ?? 0)
  })
}

/** Each fare has one of the resellers, and a third another one: each with its own weight. */
function wantsOf(world: World, seed: number): readonly (readonly Want[])[] {
  const random = createRandom(1_000 + seed)
  const any = () => Math.floor(SHARES.length * random.uniform())
  const part = (SHARES[BOUNDED] ?? 1) / SHARES.reduce((a, b) => a + b, 0)
  const fares = world.size / 2
  const longest = fares / (PROMISED * part * world.requestsPerSecond)
  return world.fares.map(({ weight }) => {
    const resellers = new Set([any(), ...(random.uniform() < 1 / 3 ? [any()] : [])])
    return [...resellers].map((reseller) => {
      const longestSeconds = reseller === BOUNDED && random.uniform() < 0.5 ? longest : null
      const priority = [1, 2, 5][Math.floor(3 * random.uniform())] ?? 1
      const limits = { longestSeconds, shortestSeconds: SHORTEST_SECONDS }
      return { reseller, weight: weight * priority, ...limits }
    })
  })
}

function delaysOf(world: World, wants: readonly (readonly Want[])[]): number[] {
  const sums = SHARES.map(() => ({ delay: 0, worth: 0 }))
  const { requestsPerSecond } = world
  const wantsOfFare = ({ id }: WorldFare) => wants[id] ?? []
  const policy = new LearningPolicy({ requestsPerSecond, shares: SHARES, wantsOf: wantsOfFare })
  simulate(world, policy, {
    onDetected: (fare, kind, delay) => {
      for (const { reseller, weight } of wantsOfFare(fare)) {
        const sum = sums[reseller]
        const worth = weight * (VALUES[kind] ?? 1)
        if (sum === undefined) continue
        sum.worth += worth
        sum.delay += worth * delay
      }
    },
  })
  return sums.map(({ delay, worth }) => delay / worth)
}

/**
 * The mean intervals of 50 fares of A that B shares, and of 500 more of B, of two resellers with equal shares of 6 checks a
 * second. Alone, those of A are checked every 16.7 s, and those of B every 183.3 s.
 */
export function sharedIntervals(): { readonly shared: number; readonly others: number } {
  const limits = { longestSeconds: null, shortestSeconds: 1 }
  const both: Want[] = [0, 1].map((reseller) => ({ ...limits, reseller, weight: 1 }))
  const all = Array.from({ length: 550 }, (_, id): KnownFare => {
    return { id, wants: id < 50 ? both : both.slice(1), worth: { value: 1, changesPerDay: 1 } }
  })
  const resellers = new Resellers({ requestsPerSecond: 6, shares: [1, 1] })
  for (const fare of all) resellers.add(fare)
  resellers.run(2_000)
  resellers.startCounting()
  resellers.run(4_000)
  const mean = (fares: readonly KnownFare[]) =>
    fares.reduce((sum, { id }) => sum + resellers.intervalsOf(id).mean, 0) / fares.length
  return { shared: mean(all.slice(0, 50)), others: mean(all.slice(50)) }
}
