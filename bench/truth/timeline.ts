import { draw, mix } from '../../sandbox/world/random.ts'
import { honestBody, responseOf, type Wire } from './answers.ts'
import { LIES, type Lies } from './lies.ts'
import { createMarket, type Fare, type Market, phasesAt } from './market.ts'

/** A time of lies. */
interface Period extends Lies {
  readonly fromMs: number
  readonly toMs: number
}

/** A market, and what its upstream reports of it when. */
export interface World extends Market {
  readonly seed: number
  readonly periods: readonly Period[]
  /** From then on every fare is known, and what is recorded counts. */
  readonly knownMs: number
}

interface WorldArgs {
  readonly seed: number
  readonly fares: number
  /** So many are made in all. */
  readonly checks: number
  readonly requestsPerSecond: number
}

/** No departure is near, and no clocks change before the end. */
export const START_MS = Date.UTC(2027, 0, 11)
const WARM_UP_ROUNDS = 4
/** What becomes true later cannot be recorded before the end. */
const LAST_MS = 600_000
/** Between two periods, so that holds end and the records of one do not count for the next. */
const CALM_SECONDS = 600

export function createWorld({ seed, fares, checks, requestsPerSecond }: WorldArgs): World {
  const endMs = START_MS + Math.round((1_000 * checks) / requestsPerSecond)
  const knownMs = START_MS + Math.round((WARM_UP_ROUNDS * 1_000 * fares) / requestsPerSecond)
  const market = createMarket({ seed, fares, startMs: START_MS, endMs })
  return { ...market, seed, knownMs, periods: planPeriods(knownMs, endMs - LAST_MS) }
}

/** One after the other between two instants, in turn, as long as the time suffices. */
function planPeriods(fromMs: number, endMs: number): Period[] {
  const periods: Period[] = []
  for (let [i, atMs] = [0, fromMs]; ; i += 1) {
    const lies = LIES[i % LIES.length]
    const toMs = atMs + 1_000 * (lies?.seconds ?? 0)
    if (lies === undefined || toMs > endMs) return periods
    periods.push({ ...lies, fromMs: atMs, toMs })
    atMs = toMs + 1_000 * CALM_SECONDS
  }
}

/** What a period causes comes at most so long after its end. */
const AFTER_MS = 15 * 60_000

/** What was wrong about a fare at an instant, or shortly before. */
export function causeOf({ periods }: World, fare: Fare, atMs: number): string {
  const period = periods.findLast(({ fromMs }) => fromMs <= atMs)
  if (period === undefined || atMs > period.toMs + AFTER_MS) return 'calm'
  const own = period.lies.find(({ isAbout }) => isAbout(fare))
  return own?.name ?? `others: ${period.lies[0]?.name}`
}

const FAULTS = 0.01
/** Answers that say nothing, as every upstream gives some. */
const FAULTY: readonly string[] = ['{"100001":{"avail', '{}', '[]']

/** What the upstream answers about a fare at an instant. */
export function answerOf({ seed, periods }: World, fare: Fare, atMs: number): Wire {
  const word = mix(mix(seed, fare.number), Math.floor(atMs / 1_000) | 0)
  if (draw(word, 1) < FAULTS) {
    return responseOf(FAULTY[Math.floor(draw(word, 2) * FAULTY.length)] ?? '', atMs)
  }
  const period = periods.find(({ fromMs, toMs }) => fromMs <= atMs && atMs < toMs)
  const lie = period?.lies.find(({ isAbout }) => isAbout(fare))
  if (period === undefined || lie === undefined) return truthOf(fare, atMs)
  return lie.answer({ fare, atMs, phases: phasesAt(fare, atMs), sinceMs: period.fromMs })
}

/** The honest answer at an instant. */
export function truthOf(fare: Fare, atMs: number): Wire {
  return responseOf(honestBody(fare, phasesAt(fare, atMs)), atMs)
}
