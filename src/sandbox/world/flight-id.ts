import { DAY_MS } from './episodes.ts'
import { type Flight, scheduleFlight } from './flight-schedule.ts'
import type { Pair } from './route-network.ts'
import { findPair, type World } from './world.ts'

/**
 * A flight id is twelve digits that say which flight it is, so that any id can be verified without a store:
 * departure airport (3), destination airport (3), departure date as days since 1970 (5), number of the day (1).
 *
 * @example '101103206540' // from airport 101 to 103 on 2026-07-20, the first flight of the day
 */
const FLIGHT_ID = /^([1-9]\d\d)([1-9]\d\d)([1-9]\d{4})(\d)$/

export interface FlightKey {
  readonly pair: Pair
  /** Local date of departure, in days since 1970-01-01. */
  readonly day: number
  /** 0-based. */
  readonly number: number
}

export function flightIdOf({ pair, day, number }: FlightKey): string {
  return `${pair.from.id}${pair.to.id}${day}${number}`
}

/** The flight that an id means, or undefined for text that is no id of this world. */
export function findFlight(world: World, flightId: string): Flight | undefined {
  const match = FLIGHT_ID.exec(flightId)
  if (!match) return undefined
  const pair = findPair(world, match[1] ?? '', match[2] ?? '')
  const number = Number(match[4])
  if (!pair || number >= pair.flightsPerDay) return undefined
  return scheduleFlight({ id: Number(flightId), pair, day: Number(match[3]), number })
}

/** The day on which the instant falls, in UTC. */
export function dayOf(instant: Date): number {
  return Math.floor(instant.getTime() / DAY_MS)
}
