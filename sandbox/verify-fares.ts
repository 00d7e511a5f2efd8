import { cleanText } from '../src/platform/base/text.ts'
import { DAY_MS } from './world/episodes.ts'
import { fareStateAt } from './world/fare-life.ts'
import { dayOf, findFlight, flightIdOf } from './world/flight-schedule.ts'
import { viewFlight } from './world/flight-view.ts'
import type { Terms } from './world/terms.ts'
import type { Flight, VerifyEntry, VerifyResult } from './world/wire.ts'
import type { World } from './world/world.ts'

export interface VerifyQuestion extends Terms {
  readonly flightId: string
  readonly returnFlightId?: string | null
}

const OTHER_FLIGHT_DAYS_AHEAD = 30

/**
 * The correct result of a verify request, keyed by the requested ids.
 * assumption: a flight with an unknown id cannot be booked.
 */
export function verifyFares(world: World, instant: Date, question: VerifyQuestion): VerifyResult {
  return Object.fromEntries(
    idsOf(question).map((id) => [id, verifyOne(world, instant, { id, terms: question })]),
  )
}

/** The flight ids of a question, outbound first. */
export function idsOf({ flightId, returnFlightId }: VerifyQuestion): string[] {
  return returnFlightId ? [flightId, returnFlightId] : [flightId]
}

/** A flight between other places that the passengers of the question can book at the instant. */
export function findOtherFlight(
  world: World,
  instant: Date,
  question: VerifyQuestion,
): Flight | undefined {
  const requested = idsOf(question).flatMap((id) => findFlight(world, id)?.pair ?? [])
  const day = dayOf(new Date(instant.getTime() + OTHER_FLIGHT_DAYS_AHEAD * DAY_MS))
  for (const pair of world.pairs) {
    if (requested.some(({ from, to }) => from === pair.from || to === pair.to)) continue
    const id = flightIdOf({ pair, day, number: 0 })
    const entry = verifyOne(world, instant, { id, terms: question })
    if (entry.available) return entry.flight
  }
  return undefined
}

function verifyOne(
  world: World,
  instant: Date,
  { id, terms }: { id: string; terms: Terms },
): VerifyEntry {
  const flight = findFlight(world, id)
  if (!flight) return { available: false }
  const state = fareStateAt(flight, instant.getTime())
  if (!state.available) return { available: false }
  return { available: true, flight: viewFlight(flight, state, terms) }
}

/**
 * The availability that a client reads from a verify result, by requested id: `true` with a flight, `false` without
 * one. The interface gives no meaning to anything else, so those ids are missing.
 */
export function readAvailability(ids: readonly string[], result: unknown): Record<string, boolean> {
  const known = ids.flatMap((id) => {
    const entry = isRecord(result) && Object.hasOwn(result, id) ? result[id] : undefined
    const available = isRecord(entry) ? availabilityOf(entry) : undefined
    return available === undefined ? [] : [[shortId(id), available] as const]
  })
  return Object.fromEntries(known)
}

function availabilityOf(entry: Readonly<Record<string, unknown>>): boolean | undefined {
  const { available, flight } = entry
  if (available === true) return isRecord(flight) || undefined
  const hasFlight = flight !== undefined && flight !== null
  return available === false && !hasFlight ? false : undefined
}

/** An id cut for the request log: a query may hold 16 KB. */
export function shortId(id: string): string {
  return cleanText(id, 100)
}

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
