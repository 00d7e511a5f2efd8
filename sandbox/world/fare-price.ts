import { DAY_MS, HOUR_MS, type Window } from './episodes.ts'
import { type Flight, isLivelyAt } from './flight-schedule.ts'
import { draw, drawNormal, mix } from './random.ts'
import type { Pair } from './route-network.ts'

/** The streams of draws from the word of a pair (61, 62) and of a flight (2, 3). */
const PAIR_BASE = 61
const PAIR_PACE = 62
const STEPS = 2
const TREND = 3

const CELL_MS = 6 * HOUR_MS
const STEPS_PER_DAY = 0.25
/** How many times as many steps a lively flight has: with 40 of them two to four an hour. */
const LIVELY_FACTOR = 10
const TREND_MS = 6 * DAY_MS

/**
 * The fare of a non-resident adult in whole cents.
 *
 * The price is a slow curve, sampled at the price steps and constant between them. So the last step alone
 * determines it, and two steps differ by a few percent.
 */
export function adultCentsAt(flight: Flight, instant: number): number {
  const step = lastStep(flight, instant)
  const daysLeft = Math.max(0, (flight.scheduledAt - step.at) / DAY_MS)
  const urgency = 1 + 0.5 * Math.exp(-daysLeft / 15)
  const level =
    urgency * (1 + 0.05 * trendAt(flight.word, step.at)) * (1 + 0.03 * (step.noise - 0.5))
  const { dearer } = flight.script
  const staged = dearer !== undefined && instant >= dearer.at ? dearer.factor : 1
  return Math.round(baseCents(flight.pair) * timeOfDayFactor(flight) * level * staged)
}

/** The instants in the window at which the price may change. */
export function priceMoments(flight: Flight, { from, to }: Window): number[] {
  const moments: number[] = []
  const stepsPerDay = paceOf(flight.pair)
  for (let cell = cellOf(flight, from); cell >= Math.max(0, cellOf(flight, to)); cell--) {
    const step = stepIn(flight, cell, stepsPerDay)
    if (step && step.at >= from && step.at <= to) moments.push(step.at)
  }
  if (flight.script.dearer) moments.push(flight.script.dearer.at)
  return moments
}

interface Step {
  readonly at: number
  /** In [0, 1). */
  readonly noise: number
}

/** The last step at or before the instant. The opening of the sale is a step too. */
function lastStep(flight: Flight, instant: number): Step {
  const opening = cellOf(flight, flight.saleOpensAt)
  const stepsPerDay = paceOf(flight.pair)
  for (let cell = Math.max(0, cellOf(flight, instant)); cell <= opening; cell++) {
    const step = stepIn(flight, cell, stepsPerDay)
    if (step && step.at <= instant) return step
  }
  return { at: flight.saleOpensAt, noise: 0.5 }
}

/** Cells are counted back from departure. */
function cellOf(flight: Flight, instant: number): number {
  return Math.floor((flight.scheduledAt - instant) / CELL_MS)
}

/** The hazard of a step rises towards departure, as that of a sell-out does. */
function stepIn(flight: Flight, cell: number, stepsPerDay: number): Step | undefined {
  const word = mix(mix(flight.word, STEPS), cell)
  const daysLeft = ((cell + 0.5) * CELL_MS) / DAY_MS
  const isLively = isLivelyAt(flight, flight.scheduledAt - (cell + 1) * CELL_MS)
  const perDay = stepsPerDay * (isLively ? LIVELY_FACTOR : 1) * (1 + 7 * Math.exp(-daysLeft / 5))
  if (draw(word, 0) >= 1 - Math.exp((-perDay * CELL_MS) / DAY_MS)) return undefined
  const at = flight.scheduledAt - Math.round((cell + 1 - draw(word, 1)) * CELL_MS)
  return { at, noise: draw(word, 2) }
}

/** Price steps a day, long before departure; they differ from pair to pair. */
function paceOf(pair: Pair): number {
  const volatility = Math.exp(0.6 * drawNormal(pair.word, PAIR_PACE))
  return STEPS_PER_DAY * Math.min(4, Math.max(0.5, volatility))
}

/** A continuous curve between −1 and 1: drawn every six days, smooth in between. */
function trendAt(word: number, instant: number): number {
  const position = instant / TREND_MS
  const index = Math.floor(position)
  const t = position - index
  const smooth = t * t * (3 - 2 * t)
  const trend = mix(word, TREND)
  const [left, right] = [draw(trend, index), draw(trend, index + 1)]
  return 2 * (left + (right - left) * smooth) - 1
}

function baseCents(pair: Pair): number {
  const euros = 19 + 0.07 * pair.distanceKm ** 0.97
  return euros * 100 * (0.7 + 0.8 * draw(pair.word, PAIR_BASE))
}

function timeOfDayFactor(flight: Flight): number {
  return 0.9 + 0.25 * draw(flight.segments[0]?.flightNumber ?? 0, flight.pair.word)
}
