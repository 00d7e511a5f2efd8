import type { UnknownReason } from '../../platform/base/kinds.ts'
import type { LegObservation, Observation } from '../../upstream/observation.ts'
import { departsAt, isPastAtFirstSight } from './departure.ts'
import {
  type FareState,
  type FareView,
  type LegView,
  legOf,
  unknownView,
  viewOf,
} from './fare-state.ts'

export interface Answer {
  /** When the answer was made, by the database's clock: its request began then, or its `Age` before. */
  readonly askedAt: Date
  readonly observation: Observation
}

/** How the metrics count one leg of a check. */
export type LegOutcome = 'available' | 'unavailable' | `unknown:${UnknownReason}`

/** One answer as a reading of the fare. */
export interface Reading {
  readonly view: FareView
  readonly outcome: { readonly outbound: LegOutcome; readonly return: LegOutcome | null }
  /** Whether the price is doubtful for itself: zero, or unlike the sum of its parts. */
  readonly isOdd: boolean
  readonly past: boolean
  readonly at: string
}

/** An answer that leaves out a leg says nothing of it. */
const LEFT_OUT: LegObservation = { kind: 'unknown', reason: 'id_missing' }

/** Reads an answer as one reading of the whole fare. */
export function readingOf(state: FareState, { askedAt, observation }: Answer): Reading {
  const at = askedAt.toISOString()
  const hasDeparted = Date.parse(departsAt(state) ?? '') <= askedAt.getTime()
  const read = (
    believed: LegView,
    last: FareState['lastFlights']['outbound'],
    leg: LegObservation,
  ) => {
    const known = believed.flight ?? last
    const isPast = leg.kind === 'available' && isPastAtFirstSight(known, leg.flight, at)
    if (isPast) return { leg: { kind: 'unknown', reason: 'contract_violation' } as const, isPast }
    // No flight is sold after its departure: of a fare whose end a mass holds, that is no loss.
    const isGone = leg.kind === 'unavailable' && hasDeparted
    return { leg: isGone ? LEFT_OUT : leg, isPast }
  }
  const { belief, lastFlights } = state
  const outbound = read(belief.outbound, lastFlights.outbound, observation.outbound)
  const back =
    belief.return && read(belief.return, lastFlights.return, observation.return ?? LEFT_OUT)
  const legs = [outbound, ...(back ? [back] : [])]
  return {
    view: viewOf(legOf(outbound.leg), back && legOf(back.leg)),
    outcome: {
      outbound: outcomeOf(outbound.leg, belief.outbound),
      return: back && belief.return && outcomeOf(back.leg, belief.return),
    },
    isOdd: legs.some(({ leg }) => leg.kind === 'available' && leg.flight.priceIsOdd),
    past: legs.some(({ isPast }) => isPast),
    at,
  }
}

function outcomeOf(leg: LegObservation, believed: LegView): LegOutcome {
  if (leg.kind === 'unknown') return `unknown:${leg.reason}`
  const isOther =
    leg.kind === 'available' &&
    believed.identity !== null &&
    believed.identity !== leg.flight.identity
  return isOther ? 'unknown:identity_mismatch' : leg.kind
}

/** After a revert nothing is believed, so the next reading contradicts nothing. */
export function comparedBelief({ reverted, belief }: FareState): FareView {
  return reverted ? unknownView(belief.return !== null) : belief
}
