import {
  DAY_MS,
  type Episode,
  edgesOf,
  type Transition,
  touches,
  transitionsOf,
  type Window,
} from './episodes.ts'
import { adultCentsAt, priceMoments } from './fare-price.ts'
import { type Flight, findFlight, isLivelyAt, SALE_DAYS } from './flight-schedule.ts'
import { draw, drawExponential, mix } from './random.ts'
import { unbookables } from './route-life.ts'
import type { World } from './world.ts'

/** The true state of a fare at an instant. A fare that is not available has no price. */
export type FareState =
  | { readonly available: false }
  | { readonly available: true; readonly adultCents: number; readonly shiftMs: number }

const SOLD_OUT = 1
const SELL_OUTS_PER_DAY = 0.03
/** How many times as often a lively flight sells out. */
const LIVELY_FACTOR = 3
const REOPENINGS_PER_DAY = 0.5
const LATE_REOPENINGS_PER_DAY = 0.1
/** In the last week before departure, seats rarely come back. */
const LATE_DAYS = 7
const LONGEST_SELL_OUT_DAYS = 21

const OFF: FareState = { available: false }

export function fareStateAt(flight: Flight, instant: number): FareState {
  if (unavailabilities(flight, { from: instant, to: instant }).length > 0) return OFF
  const { retiming } = flight
  return {
    available: true,
    adultCents: adultCentsAt(flight, instant),
    shiftMs: retiming && instant >= retiming.at ? retiming.shiftMs : 0,
  }
}

/** The changes of a fare after `from` and up to `to`: losses, returns, prices and times. None for an unknown id. */
export function fareHistory(
  world: World,
  flightId: string,
  { from, to }: { from: Date; to: Date },
): Transition<FareState>[] {
  const flight = findFlight(world, flightId)
  if (!flight) return []
  const window = { from: from.getTime(), to: to.getTime() }
  return transitionsOf({
    window,
    moments: [
      ...edgesOf(unavailabilities(flight, window)),
      ...priceMoments(flight, window),
      ...(flight.retiming ? [flight.retiming.at] : []),
    ],
    stateAt: (instant) => fareStateAt(flight, instant),
    same: sameState,
  })
}

export function sameState(a: FareState, b: FareState): boolean {
  if (!a.available || !b.available) return a.available === b.available
  return a.adultCents === b.adultCents && a.shiftMs === b.shiftMs
}

/** Before and after its sale, while its route sells nothing, and while it is sold out. */
function unavailabilities(flight: Flight, window: Window): Episode[] {
  const outside = [
    { start: Number.NEGATIVE_INFINITY, end: flight.saleOpensAt },
    { start: flight.departsAt, end: Number.POSITIVE_INFINITY },
  ].filter((episode) => touches(episode, window))
  const { soldOut } = flight.script
  const staged = soldOut !== undefined && touches(soldOut, window) ? [soldOut] : []
  return [...outside, ...staged, ...unbookables(flight.pair, window), ...sellOuts(flight, window)]
}

/**
 * Cells of one day, counted back from departure, because the hazard depends on the days d until departure: the base
 * rate times 1 + 7·e^(−d/5).
 */
function sellOuts(flight: Flight, window: Window): Episode[] {
  const word = mix(flight.word, SOLD_OUT)
  const daysLeft = (instant: number) => Math.floor((flight.scheduledAt - instant) / DAY_MS)
  const first = Math.min(SALE_DAYS - 1, daysLeft(window.from) + LONGEST_SELL_OUT_DAYS + 1)
  const last = Math.max(0, daysLeft(window.to))
  const found: Episode[] = []
  for (let day = first; day >= last; day--) {
    const cell = mix(word, day)
    const isLively = isLivelyAt(flight, flight.scheduledAt - (day + 1) * DAY_MS)
    if (draw(cell, 0) >= sellOutChance(day, isLively ? LIVELY_FACTOR : 1)) continue
    const left = day + 1 - draw(cell, 1)
    const length = sellOutDays(left, drawExponential(cell, 2))
    const start = flight.scheduledAt - Math.round(left * DAY_MS)
    const episode = { start, end: start + Math.round(length * DAY_MS) }
    if (touches(episode, window)) found.push(episode)
  }
  return found
}

/** The probability that a sell-out begins on a day with so many whole days until departure. */
function sellOutChance(day: number, factor: number): number {
  return 1 - Math.exp(-SELL_OUTS_PER_DAY * factor * (1 + 7 * Math.exp(-(day + 0.5) / 5)))
}

/**
 * The length in days of a sell-out that begins `left` days before departure: the time after which the integral of the
 * reopening hazard reaches an exponential draw.
 *
 * @example sellOutDays(30, 1) // 2: half a reopening a day
 * @example sellOutDays(8, 1) // 6: one day at 0.5, then five at 0.1
 */
function sellOutDays(left: number, hazard: number): number {
  const earlyDays = Math.max(0, left - LATE_DAYS)
  const late = hazard - earlyDays * REOPENINGS_PER_DAY
  const days = late <= 0 ? hazard / REOPENINGS_PER_DAY : earlyDays + late / LATE_REOPENINGS_PER_DAY
  return Math.min(days, LONGEST_SELL_OUT_DAYS)
}
