import { createRandom } from './random.ts'
import { Turns, type Urgent, type Want } from './turns.ts'

/** A fare of several resellers. The score of each is the root of its weight. */
interface SharedFare {
  readonly id: number
  readonly wants: readonly Want[]
}

interface SharedWorld {
  readonly requestsPerSecond: number
  readonly shares: readonly number[]
  readonly fares: readonly SharedFare[]
  /** Each so many checks of a fare one asks for a confirmation, and one fails and has a retry. */
  readonly urgentEvery: number
}

interface Intervals {
  readonly count: number
  readonly mean: number
}

const [CONFIRM_SECONDS, RETRY_SECONDS] = [20, 30]
const WARM_UP_ROUNDS = 20
/** Fares with fewer intervals are not compared: their means depend on where the run ends. */
const LEAST_COUNT = 30
const scoreOf = (weight: number) => Math.sqrt(weight)

/** The intervals of the fares while each is checked so many times on average. */
function runShared(world: SharedWorld, rounds: number): (id: number) => Intervals {
  const { requestsPerSecond, shares, fares, urgentEvery } = world
  const turns = new Turns({ requestsPerSecond, shares, minSeconds: 1 })
  for (const { id, wants } of fares) turns.add(id, wants, { now: 0, scoreOf, isUrgent: true })
  const times = new Map<number, number[]>(fares.map(({ id }) => [id, []]))
  const checks = new Map<number, number>()
  for (let slot = 0; slot < (WARM_UP_ROUNDS + rounds) * fares.length; slot += 1) {
    const now = slot / requestsPerSecond
    const id = turns.claim(now)
    if (id === undefined) continue
    if (slot >= WARM_UP_ROUNDS * fares.length) times.get(id)?.push(now)
    const count = (checks.get(id) ?? id) + 1
    checks.set(id, count)
    turns.place(id, { now, scoreOf, urgent: urgentAfter(count % urgentEvery, now) })
  }
  return (id) => intervalsOf(times.get(id) ?? [])
}

function urgentAfter(place: number, now: number): Urgent | null {
  if (place === 0) return { lane: 'confirmation', at: now + CONFIRM_SECONDS }
  return place === 1 ? { lane: 'retry', at: now + RETRY_SECONDS } : null
}

function intervalsOf(times: readonly number[]): Intervals {
  const gaps = times.slice(1).map((at, i) => at - (times[i] ?? 0))
  return { count: gaps.length, mean: gaps.reduce((a, b) => a + b, 0) / gaps.length }
}

/** The mean interval of each fare, by that which each of its resellers alone with its share would give it. */
export function intervalsToAlone(world: SharedWorld, rounds: number): number[] {
  const together = runShared(world, rounds)
  const all = world.shares.reduce((a, b) => a + b, 0)
  return world.shares.flatMap((share, reseller) => {
    const fares = world.fares.flatMap(({ id, wants }) => {
      const own = wants.filter((want) => want.reseller === reseller)
      return own.length === 0 ? [] : [{ id, wants: own }]
    })
    const requestsPerSecond = (world.requestsPerSecond * share) / all
    const alone = runShared({ ...world, fares, requestsPerSecond }, rounds)
    return fares.flatMap(({ id }) => {
      const [one, other] = [together(id), alone(id)]
      return Math.min(one.count, other.count) < LEAST_COUNT ? [] : [one.mean / other.mean]
    })
  })
}

/** The parts of its share that the longest delays of a reseller need. */
const PROMISES = [0, 0, 0.3, 0.7]

/**
 * 2 to 13 resellers with shares of 1 to 5 and scores over two decades. A third of the fares are shared, some have a
 * minimum interval, and of some resellers a third have a longest delay.
 */
export function randomWorld(seed: number): SharedWorld {
  const random = createRandom(seed)
  const upTo = (most: number) => Math.floor(most * random.uniform())
  const shares = Array.from({ length: 2 + upTo(12) }, () => 1 + upTo(5))
  const size = 100 + upTo(200)
  const requestsPerSecond = size / (20 + 60 * random.uniform())
  const watched = Array.from({ length: size }, (_, id) => {
    const resellers = new Set([id < shares.length ? id : upTo(shares.length)])
    while (random.uniform() < 1 / 3) resellers.add(upTo(shares.length))
    return { id, resellers, minSeconds: random.uniform() < 0.3 ? 5 + 15 * random.uniform() : 0 }
  })
  const all = shares.reduce((a, b) => a + b, 0)
  const delays = shares.map((share, reseller) => {
    const own = watched.filter(({ id, resellers }) => id % 3 === 0 && resellers.has(reseller))
    const part = (share * requestsPerSecond) / all
    return own.length / ((PROMISES[upTo(4)] ?? 0) * part)
  })
  const fares = watched.map(({ id, resellers, minSeconds }) => {
    const wants = [...resellers].map((reseller): Want => {
      const delay = id % 3 === 0 ? (delays[reseller] ?? Infinity) : Infinity
      const maxSeconds = Number.isFinite(delay) ? Math.max(delay, minSeconds) : null
      return { reseller, weight: 10 ** (4 * random.uniform()), minSeconds, maxSeconds }
    })
    return { id, wants }
  })
  return { requestsPerSecond, shares, fares, urgentEvery: 10 }
}
