import { fareStateAt } from './fare-life.ts'
import { findFlight } from './flight-id.ts'
import { viewFlight } from './flight-view.ts'
import type { PassengerMix } from './passengers.ts'
import type { VerifyEntry, VerifyResult } from './wire.ts'
import type { World } from './world.ts'

export interface VerifyQuestion extends PassengerMix {
  readonly flightId: string
  readonly returnFlightId?: string
}

/**
 * The honest answer to a verify request, keyed by the ids as they were asked.
 * assumption: an id that means no flight is one that cannot be booked.
 */
export function verifyFares(world: World, instant: Date, question: VerifyQuestion): VerifyResult {
  const { flightId, returnFlightId } = question
  const ids = returnFlightId === undefined ? [flightId] : [flightId, returnFlightId]
  return Object.fromEntries(ids.map((id) => [id, verifyOne(world, instant, { id, mix: question })]))
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
  return { available: true, flight: viewFlight(flight, state, mix) }
}
