import { instantOfLocal } from '../../src/platform/base/local-time.ts'
import type { Airport } from './airports.ts'
import { DAY_MS, MINUTE_MS } from './episodes.ts'
import { flightMinutes } from './geography.ts'
import { draw, drawInteger, mix } from './random.ts'
import type { Pair } from './route-network.ts'
import type { FlightScript } from './script.ts'
import { findPair, type World } from './world.ts'

/** A fare is on sale for this long before its departure. */
export const SALE_DAYS = 120

/** One departure of a pair: its plan, and the one change of time that it may have. */
export interface Flight {
  readonly id: number
  readonly pair: Pair
  /** The word for the draws of this departure. */
  readonly word: number
  readonly segments: readonly Segment[]
  /** As first planned. */
  readonly scheduledAt: number
  readonly saleOpensAt: number
  /** When the departure time changes, and by how much. Most departures have one change while on sale. */
  readonly retiming: { readonly at: number; readonly shiftMs: number } | undefined
  /** The final departure time. The sale ends here. */
  readonly departsAt: number
  /** What a demonstration adds. */
  readonly script: FlightScript
}

/** One leg, with times relative to the departure of the first. */
export interface Segment {
  readonly from: Airport
  readonly to: Airport
  readonly flightNumber: number
  readonly startMs: number
  readonly durationMs: number
}

interface FlightPlan {
  readonly script?: FlightScript | undefined
  readonly id: number
  readonly pair: Pair
  readonly day: number
  readonly number: number
}

/** Streams of draws from a pair's word. route-network.ts uses 1 to 9, route-life.ts 21 to 24. */
const TIMETABLE = 41
const DEPARTURE = 42

const FIRST_DEPARTURE_MINUTE = 6 * 60
const LAST_DEPARTURE_MINUTE = 21 * 60
/** About one change of itinerary per flight and hundred days. */
const RETIMING_CHANCE = 0.7

/** The plan of a departure. Times of day and flight numbers are the same every day. */
function scheduleFlight({ id, pair, day, number, script = {} }: FlightPlan): Flight {
  const timetable = mix(mix(pair.word, TIMETABLE), number)
  const word = mix(mix(mix(pair.word, DEPARTURE), day), number)
  const local = day * DAY_MS + departureMinute(timetable, pair, number) * MINUTE_MS
  const scheduledAt = instantOfLocal(pair.from.zone, local)
  const saleOpensAt = scheduledAt - SALE_DAYS * DAY_MS
  const { retiming = retimingOf(word, saleOpensAt) } = script
  return {
    id,
    pair,
    word,
    segments: segmentsOf(timetable, pair),
    scheduledAt,
    saleOpensAt,
    retiming,
    departsAt: scheduledAt + (retiming?.shiftMs ?? 0),
    script,
  }
}

/** The time from 6:00 to 21:00 is divided evenly. Each flight departs within its part, on a full five minutes. */
function departureMinute(timetable: number, pair: Pair, number: number): number {
  const part = (LAST_DEPARTURE_MINUTE - FIRST_DEPARTURE_MINUTE) / pair.flightsPerDay
  const minute = FIRST_DEPARTURE_MINUTE + (number + draw(timetable, 1)) * part
  return Math.floor(minute / 5) * 5
}

/** Five to forty minutes earlier or later, announced at least a day before departure. */
function retimingOf(word: number, saleOpensAt: number): Flight['retiming'] {
  if (draw(word, 1) >= RETIMING_CHANCE) return undefined
  const at = saleOpensAt + Math.round(draw(word, 2) * (SALE_DAYS - 1) * DAY_MS)
  const minutes = 5 * (1 + drawInteger(word, 3, 8))
  return { at, shiftMs: (draw(word, 4) < 0.5 ? -minutes : minutes) * MINUTE_MS }
}

function segmentsOf(timetable: number, { from, to, via }: Pair): Segment[] {
  const flightNumber = 1000 + drawInteger(timetable, 2, 8000)
  const first = { from, to: via ?? to, flightNumber, startMs: 0 }
  const firstMs = flightMinutes(first.from, first.to) * MINUTE_MS
  if (!via) return [{ ...first, durationMs: firstMs }]
  const waitMs = (60 + 5 * drawInteger(timetable, 3, 31)) * MINUTE_MS
  return [
    { ...first, durationMs: firstMs },
    {
      from: via,
      to,
      flightNumber: flightNumber + 1,
      startMs: firstMs + waitMs,
      durationMs: flightMinutes(via, to) * MINUTE_MS,
    },
  ]
}

/**
 * A flight id is twelve digits that identify the flight, so that no store is needed: departure airport (3), destination
 * airport (3), departure date as days since 1970 (5), number of the flight on that day (1).
 *
 * @example '101103206540' // from airport 101 to 103 on 2026-07-20, the first flight of the day
 */
const FLIGHT_ID = /^([1-9]\d\d)([1-9]\d\d)([1-9]\d{4})(\d)$/

interface FlightKey {
  readonly pair: Pair
  /** Local date of departure, in days since 1970-01-01. */
  readonly day: number
  /** 0-based. */
  readonly number: number
}

export function flightIdOf({ pair, day, number }: FlightKey): string {
  return `${pair.from.id}${pair.to.id}${day}${number}`
}

/** The flight of an id; undefined if this world has no such flight. */
export function findFlight(world: World, flightId: string): Flight | undefined {
  const match = FLIGHT_ID.exec(flightId)
  if (!match) return undefined
  const pair = findPair(world, match[1] ?? '', match[2] ?? '')
  const number = Number(match[4])
  if (!pair || number >= pair.flightsPerDay) return undefined
  const script = scriptOf(world, flightId)
  return scheduleFlight({ id: Number(flightId), pair, day: Number(match[3]), number, script })
}

/** In a demonstration the flights without a part in it are lively. */
function scriptOf({ story }: World, flightId: string): FlightScript | undefined {
  return story && (story.flights.get(flightId) ?? { livelyFrom: story.startsAt })
}

/** Whether a flight of a demonstration changes more often at an instant. */
export function isLivelyAt({ script }: Flight, instant: number): boolean {
  return script.livelyFrom !== undefined && instant >= script.livelyFrom
}

/** The day on which the instant falls, in UTC. */
export function dayOf(instant: Date): number {
  return Math.floor(instant.getTime() / DAY_MS)
}
