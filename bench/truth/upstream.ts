import { createHash } from 'node:crypto'
import { draw, mix } from '../../sandbox/world/random.ts'
import { honestBody, responseOf, type Wire } from './answers.ts'
import { createMarket, type Fare, type Market, phasesAt } from './market.ts'
import { lieAbout, type Period, planPeriods } from './timeline.ts'

/** A market, and what its upstream reports of it when. */
export interface World extends Market {
  readonly seed: number
  readonly periods: readonly Period[]
  /** From then on every fare is known, and what is recorded counts. */
  readonly knownMs: number
  readonly requestsPerSecond: number
}

export interface WorldArgs {
  readonly seed: number
  readonly fares: number
  /** So many are made in all. */
  readonly checks: number
  readonly requestsPerSecond: number
  /** A pattern: lies and masses with other names are left out. */
  readonly only?: string | undefined
}

/** No departure is near, and no clocks change before the end. */
const START_MS = Date.UTC(2027, 0, 11)
const WARM_UP_ROUNDS = 4
/** What becomes true later cannot be recorded before the end. */
const LAST_SECONDS = 600

export function createWorld({ checks, only, ...args }: WorldArgs): World {
  const { seed, fares, requestsPerSecond } = args
  const endMs = START_MS + Math.round((1_000 * checks) / requestsPerSecond)
  const knownMs = START_MS + Math.round((WARM_UP_ROUNDS * 1_000 * fares) / requestsPerSecond)
  const market = createMarket({ seed, fares, startMs: START_MS, endMs })
  const periods = planPeriods(market, { fromMs: knownMs, toMs: endMs - 1_000 * LAST_SECONDS, only })
  return { ...market, seed, periods, knownMs, requestsPerSecond }
}

/** Identifies a world: the same seed gives the same one in each version, and on every machine. */
export function hashOf({ fares }: World): string {
  const hash = createHash('sha256')
  for (const { legs, passengers } of fares) hash.update(JSON.stringify([legs, passengers]))
  return hash.digest('hex')
}

const FAULTS = 0.01
const HTML = { 'content-type': 'text/html' }

/** Answers that say nothing, as every upstream gives some. */
const FAULTY: readonly ((atMs: number) => Wire)[] = [
  () => ({ failure: 'timeout' }),
  () => ({ failure: 'network' }),
  () => ({ status: 500, headers: {}, body: '' }),
  () => ({ status: 503, headers: HTML, body: '<html>maintenance</html>' }),
  () => ({ status: 200, headers: HTML, body: '<html>maintenance</html>' }),
  (atMs) => responseOf('{"100001":{"avail', atMs),
  (atMs) => responseOf('{}', atMs),
  (atMs) => responseOf('[]', atMs),
]

/** What the upstream answers about a fare at an instant. */
export function answerOf({ seed, periods }: World, fare: Fare, atMs: number): Wire {
  const word = mix(mix(seed, fare.number), Math.floor(atMs / 1_000) | 0)
  if (draw(word, 1) < FAULTS) {
    return FAULTY[Math.floor(draw(word, 2) * FAULTY.length)]?.(atMs) ?? { failure: 'timeout' }
  }
  const phases = phasesAt(fare, atMs)
  const found = lieAbout(periods, fare, atMs)
  if (found === undefined) return responseOf(honestBody(fare, phases), atMs)
  return found.lie.answer({ fare, atMs, phases, sinceMs: found.sinceMs })
}

/** The honest answer at an instant. */
export function truthOf(fare: Fare, atMs: number): Wire {
  return responseOf(honestBody(fare, phasesAt(fare, atMs)), atMs)
}
