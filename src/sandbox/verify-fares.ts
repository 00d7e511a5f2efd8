import { cleanText } from '../base/text.ts'
import { DAY_MS } from './world/episodes.ts'
import { fareStateAt } from './world/fare-life.ts'
import { dayOf, findFlight, flightIdOf } from './world/flight-schedule.ts'
import { readFlight } from './world/flight-view.ts'
import type { PassengerMix } from './world/passengers.ts'
import type { Flight, VerifyEntry, VerifyResult } from './world/wire.ts'
import type { World } from './world/world.ts'

export interface VerifyQuestion extends PassengerMix {
  readonly flightId: string
  readonly returnFlightId?: string
}

const DAYS_AHEAD = 30

/**
 * The honest answer to a verify request, keyed by the ids as they were asked.
 * assumption: an id that means no flight is one that cannot be booked.
 */
export function verifyFares(world: World, instant: Date, question: VerifyQuestion): VerifyResult {
  return Object.fromEntries(
    idsOf(question).map((id) => [id, verifyOne(world, instant, { id, mix: question })]),
  )
}

/** The ids that a question asks about, outbound first. */
export function idsOf({ flightId, returnFlightId }: VerifyQuestion): string[] {
  return returnFlightId === undefined ? [flightId] : [flightId, returnFlightId]
}

/** A flight that can be booked at the instant by the question's passengers, between other places than asked. */
export function findOtherFlight(
  world: World,
  instant: Date,
  question: VerifyQuestion,
): Flight | undefined {
  const asked = idsOf(question).flatMap((id) => findFlight(world, id)?.pair ?? [])
  const day = dayOf(new Date(instant.getTime() + DAYS_AHEAD * DAY_MS))
  for (const pair of world.pairs) {
    if (asked.some(({ from, to }) => from === pair.from || to === pair.to)) continue
    const id = flightIdOf({ pair, day, number: 0 })
    const entry = verifyOne(world, instant, { id, mix: question })
    if (entry.available) return entry.flight
  }
  return undefined
}

function verifyOne(
  world: World,
  instant: Date,
  { id, mix }: { id: string; mix: PassengerMix },
): VerifyEntry {
  const flight = findFlight(world, id)
  if (!flight) return { available: false }
  const state = fareStateAt(flight, instant.getTime())
  if (!state.available) return { available: false }
  return { available: true, flight: readFlight(flight, state, mix) }
}

/**
 * What a verify result says of each id that was asked, by the interface alone: `true` beside a flight, `false`
 * without one. Of anything else nobody can tell what it means, so it is left out.
 */
export function whatIsSaid(ids: readonly string[], result: unknown): Record<string, boolean> {
  const said = ids.flatMap((id) => {
    const entry = isRecord(result) && Object.hasOwn(result, id) ? result[id] : undefined
    const available = isRecord(entry) ? meaningOf(entry) : undefined
    return available === undefined ? [] : [{ id: shortId(id), available }]
  })
  return Object.fromEntries(said.map(({ id, available }) => [id, available]))
}

function meaningOf({ available, flight }: Readonly<Record<string, unknown>>): boolean | undefined {
  if (available === true) return isRecord(flight) || undefined
  const alone = flight === undefined || flight === null
  return available === false && alone ? false : undefined
}

/** As the log keeps it: a query may hold 16 KB, and the log holds many. */
export function shortId(id: string): string {
  return cleanText(id, 100)
}

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
