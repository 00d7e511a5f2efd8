import type { RatedState } from '../../src/platform/base/kinds.ts'
import { createRandom, type Random, shuffled } from './random.ts'

const DAY = 86_400
const HOUR = 3_600

/** The kinds of true changes, as the index of their value. */
const PRICE = 0
export const SELL_OUT = 1
export const REOPEN = 2
export const VALUES = [1, 2, 5] as const

/** What an oracle knows of a fare in one state: changes a day, and their mean value. */
interface TrueRate {
  readonly changesPerDay: number
  readonly value: number
}

export interface WorldFare {
  readonly id: number
  readonly route: string
  readonly weight: number
  /** When it is first watched, in seconds. */
  readonly addedAt: number
  readonly departsAt: number
  readonly truth: Readonly<Record<RatedState, TrueRate>>
  /** Its true changes, ascending, and the kind of each. */
  readonly times: Float64Array
  readonly kinds: Uint8Array
}

export interface World {
  readonly fares: readonly WorldFare[]
  readonly requestsPerSecond: number
  readonly endsAt: number
  /** Changes before this are not counted. */
  readonly countedFrom: number
}

export interface WorldArgs {
  readonly seed: number
  /** Fares that are watched at a time. */
  readonly size: number
  /** Every watch counts the same. */
  readonly equalWeights: boolean
}

const FARES_A_ROUTE = 50
const HORIZON_DAYS = 30
const SHOCKS_A_DAY = 0.4
const SHOCK_SHARE = 0.5
const EPISODES_A_DAY = 0.1
const EPISODE_HOURS = 6
const EPISODE_CHANGES_AN_HOUR = 0.5
const SELL_OUTS_A_DAY = 0.03

/**
 * Flight fares: routes, departures, volatile hours, shocks of whole routes, sell-outs and reopenings.
 */
export function fares({ seed, size, equalWeights }: WorldArgs): World {
  const random = createRandom(seed)
  const endsAt = HORIZON_DAYS * DAY
  const routes = Array.from({ length: Math.ceil(size / FARES_A_ROUTE) }, (_, i) => ({
    name: `route ${i}`,
    rate: 0.25 * Math.exp(0.6 * random.normal()),
    shocks: poisson(SHOCKS_A_DAY / DAY, { from: 0, to: endsAt }, random),
  }))
  const ranks = shuffled(
    Array.from({ length: size }, (_, i) => i + 1),
    random,
  )
  const made: WorldFare[] = []
  for (const [slot, rank] of ranks.entries()) {
    const route = routes[slot % routes.length]
    if (route === undefined) continue
    const priority = [1, 2, 5][Math.floor(3 * random.uniform())] ?? 1
    const weight = equalWeights ? 1 : Math.max(1, 1_000 / rank) * priority
    let departsAt = 60 * DAY * random.uniform()
    for (let addedAt = 0; addedAt < endsAt; ) {
      const theta = (route.rate * random.gamma(1)) / DAY
      const life = { from: addedAt, to: Math.min(departsAt, endsAt) }
      const events = eventsOf({ theta, departsAt, life, shocks: route.shocks }, random)
      made.push({
        id: made.length,
        route: route.name,
        weight,
        addedAt,
        departsAt,
        truth: truthOf(theta, departsAt, life),
        ...events,
      })
      addedAt = departsAt
      departsAt += (20 + 40 * random.uniform()) * DAY
    }
  }
  const requestsPerSecond = size / (2 * HOUR)
  return { fares: made, requestsPerSecond, endsAt, countedFrom: 8 * DAY }
}

interface Life {
  readonly from: number
  readonly to: number
}

function poisson(rate: number, { from, to }: Life, random: Random): number[] {
  const times: number[] = []
  for (let at = from + random.exponential(1 / rate); at < to; at += random.exponential(1 / rate))
    times.push(at)
  return times
}

const hazardAt = (daysLeft: number) => 1 + 7 * Math.exp(-daysLeft / 5)

interface FareArgs {
  readonly theta: number
  readonly departsAt: number
  readonly life: Life
  readonly shocks: readonly number[]
}

function eventsOf(args: FareArgs, random: Random): Pick<WorldFare, 'times' | 'kinds'> {
  const prices = pricesOf(args, random)
  const times: number[] = []
  const kinds: number[] = []
  const { departsAt, life } = args
  let isOpen = true
  let next = 0
  for (let from = life.from; from < life.to; isOpen = !isOpen) {
    const until = isOpen
      ? from + random.exponential(DAY / SELL_OUTS_A_DAY)
      : reopensAt(from, departsAt, random)
    for (; next < prices.length && (prices[next] ?? 0) < Math.min(until, life.to); next += 1) {
      if (!isOpen) continue
      times.push(prices[next] ?? 0)
      kinds.push(PRICE)
    }
    if (until < life.to) {
      times.push(until)
      kinds.push(isOpen ? SELL_OUT : REOPEN)
    }
    from = until
  }
  return { times: Float64Array.from(times), kinds: Uint8Array.from(kinds) }
}

/** Half a reopening a day, a tenth of one in the last week. */
function reopensAt(from: number, departsAt: number, random: Random): number {
  const lastWeek = departsAt - 7 * DAY
  const at = from + random.exponential(DAY / 0.5)
  return at < lastWeek ? at : Math.max(from, lastWeek) + random.exponential(DAY / 0.1)
}

function pricesOf({ theta, departsAt, life, shocks }: FareArgs, random: Random): number[] {
  const base = poisson(8 * theta, life, random).filter(
    (at) => random.uniform() < hazardAt((departsAt - at) / DAY) / 8,
  )
  const volatile = poisson(EPISODES_A_DAY / DAY, life, random).flatMap((from) =>
    poisson(
      EPISODE_CHANGES_AN_HOUR / HOUR,
      { from, to: Math.min(life.to, from + EPISODE_HOURS * HOUR) },
      random,
    ),
  )
  const shocked = shocks.flatMap((at) => {
    const moves = random.uniform() < SHOCK_SHARE
    const movesAt = at + random.exponential(HOUR / 2)
    return moves && at >= life.from && movesAt < life.to ? [movesAt] : []
  })
  return [...base, ...volatile, ...shocked].sort((a, b) => a - b)
}

/** The rates that a parameter oracle knows: all that is constant, with the hazard at its mean over the fare's life. */
function truthOf(theta: number, departsAt: number, { from, to }: Life): WorldFare['truth'] {
  const [left, right] = [(departsAt - to) / DAY, (departsAt - from) / DAY]
  const meanHazard =
    1 + (7 * 5 * (Math.exp(-left / 5) - Math.exp(-right / 5))) / Math.max(1e-9, right - left)
  const prices =
    theta * DAY * meanHazard +
    EPISODES_A_DAY * EPISODE_HOURS * EPISODE_CHANGES_AN_HOUR +
    SHOCKS_A_DAY * SHOCK_SHARE
  const all = prices + SELL_OUTS_A_DAY
  return {
    available: { changesPerDay: all, value: (prices + VALUES[SELL_OUT] * SELL_OUTS_A_DAY) / all },
    unavailable: { changesPerDay: right - left > 7 ? 0.35 : 0.1, value: VALUES[REOPEN] },
  }
}
