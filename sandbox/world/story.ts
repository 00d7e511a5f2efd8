import { HOUR_MS, MINUTE_MS } from './episodes.ts'
import { fareHistory, fareStateAt } from './fare-life.ts'
import { dayOf, findFlight, flightIdOf } from './flight-schedule.ts'
import { draw, mix } from './random.ts'
import { isBookable } from './route-life.ts'
import type { Pair } from './route-network.ts'
import type { FlightScript, Story } from './script.ts'
import { findPair, type World, worldOf } from './world.ts'

/**
 * The demo's world runs 60 times as fast as the calendar: it passes a departure long before the real clock does, and to
 * farewatch the flight seems to sell out. No flight of the demo departs within 16 hours of real time.
 */
const EARLIEST_DAYS = 40
const LATEST_DAYS = 52
/** A quiet flight stays as it is for this long: 24 minutes of the demo. */
const QUIET_MS = 24 * HOUR_MS
/** What the story closes stays closed for eight minutes of the demo, and what it opens was closed for as long. */
const CLOSED_MS = 8 * HOUR_MS
/** The first departure of those that a history of the demo ends with, in days. */
const FIRST_DEPARTURE_DAYS = 3

/**
 * The world with a story that begins at an instant. At the demo's speed one of its minutes is a second. Farewatch confirms a
 * sell-out, other times and a removed route with a second answer, so these come earlier than they are reported.
 */
export function withStory(world: World, startsAt: Date): World {
  const story = planStory(world, startsAt)
  const pairs = world.pairs.map((pair) => {
    const closed = story.closures.get(pair.word)
    return closed === undefined ? pair : { ...pair, closed }
  })
  return { ...worldOf({ ...world, pairs }), story }
}

function planStory(world: World, startsAt: Date): Story {
  const minute = (n: number) => startsAt.getTime() + n * MINUTE_MS
  const scripts: readonly FlightScript[] = [
    { soldOut: { start: minute(20), end: minute(20) + CLOSED_MS } },
    { soldOut: { start: minute(45) - CLOSED_MS, end: minute(45) } },
    { dearer: { at: minute(76), factor: 1.12 } },
    { retiming: { at: minute(77), shiftMs: 25 * MINUTE_MS } },
  ]
  const actors = searchFlights(world, startsAt, { n: scripts.length })
  const [closing, opening] = quietPairs(world, startsAt).toReversed()
  return {
    startsAt: startsAt.getTime(),
    flights: new Map(actors.map((id, i) => [id, scripts[i] ?? {}])),
    closures: new Map([
      [closing?.word ?? 0, { start: minute(65), end: minute(65) + CLOSED_MS }],
      [opening?.word ?? 0, { start: minute(75) - CLOSED_MS, end: minute(75) }],
    ]),
  }
}

interface Wanted {
  readonly n: number
  readonly without?: ReadonlySet<string>
  /** For how long after the instant they stay as they are; at 0 they may change at any moment. Default: a day of the world. */
  readonly quietMs?: number
}

/** The ids of n flights for a demonstration: they depart in about six weeks and can be booked. */
export function searchFlights(
  world: World,
  instant: Date,
  { n, without, quietMs = QUIET_MS }: Wanted,
): string[] {
  const found: string[] = []
  const day = dayOf(instant)
  const pairs = quietPairs(world, instant)
  for (let ahead = EARLIEST_DAYS; ahead < LATEST_DAYS; ahead += 3) {
    for (const pair of pairs) {
      if (found.length === n) return found
      const id = flightIdOf({ pair, day: day + ahead, number: 0 })
      if (!without?.has(id) && isQuiet(world, id, { instant, quietMs })) found.push(id)
    }
  }
  return found
}

/** The ids of n flights that can be booked and depart one after the other in the days after the instant. */
export function searchDeparting(
  world: World,
  instant: Date,
  { n, days }: { readonly n: number; readonly days: number },
): string[] {
  if (days <= FIRST_DEPARTURE_DAYS) return []
  const step = (days - FIRST_DEPARTURE_DAYS) / n
  const ids = quietPairs(world, instant).map((pair, i) => {
    const ahead = FIRST_DEPARTURE_DAYS + Math.floor((i % n) * step)
    return flightIdOf({ pair, day: dayOf(instant) + ahead, number: 0 })
  })
  return ids.filter((id) => isQuiet(world, id, { instant, quietMs: 0 })).slice(0, n)
}

/** The first flight back, a week after a flight. */
export function flightBack(world: World, id: string): string | undefined {
  const flight = findFlight(world, id)
  const pair = flight && findPair(world, flight.pair.to.id, flight.pair.from.id)
  return pair && flightIdOf({ pair, day: dayOf(new Date(flight.departsAt)) + 7, number: 0 })
}

/** In an order that the seed determines. */
function quietPairs(world: World, instant: Date): Pair[] {
  const day = { from: instant.getTime(), to: instant.getTime() + QUIET_MS }
  const word = mix(world.seed, 91)
  return world.pairs
    .filter((pair) => pair.pattern.kind === 'all-year' && isBookable(pair, day))
    .sort((a, b) => draw(word, a.word) - draw(word, b.word))
}

function isQuiet(
  world: World,
  id: string,
  { instant, quietMs }: { readonly instant: Date; readonly quietMs: number },
): boolean {
  const flight = findFlight(world, id)
  if (flight === undefined || !fareStateAt(flight, instant.getTime()).available) return false
  const until = new Date(instant.getTime() + quietMs)
  return fareHistory(world, id, { from: instant, to: until }).length === 0
}

/** Whether a flight of the demo has departed in the world, or is none of it. */
export function hasDeparted(world: World, id: string, instant: Date): boolean {
  const flight = findFlight(world, id)
  return flight === undefined || flight.departsAt <= instant.getTime()
}
