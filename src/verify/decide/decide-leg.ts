import { sameMoney } from '../../base/money.ts'
import type { LegObservation, ObservedFlight, UnknownReason } from '../../upstream/observation.ts'
import { countAnswer, type Interval, type Look } from './leg-belief.ts'
import { recognise } from './leg-identity.ts'
import type { LegState } from './leg-state.ts'

/** What the metrics count of one leg. */
export type LegOutcome = 'available' | 'unavailable' | `unknown:${UnknownReason}`

/** What one answer made of one leg. */
export interface LegStep {
  readonly before: LegState
  readonly after: LegState
  readonly outcome: LegOutcome
  /** What changed, and when. A leg whose belief or identity moved does not count as changed in the rest. */
  readonly moved: Interval | null
  readonly reidentified: Interval | null
  readonly retimed: Interval | null
  readonly repriced: Interval | null
  readonly heldLoss: boolean
  /** Whether the answer showed all that is believed of the leg after it. */
  readonly borneOut: boolean
}

/** Decides what one answer means for one leg. */
export function decideLeg(leg: LegState, said: LegObservation, look: Look): LegStep {
  switch (said.kind) {
    case 'unknown':
      return untouched(leg, `unknown:${said.reason}`)
    case 'unavailable':
      return decideAbsence(leg, look)
    case 'available':
      return decidePresence(leg, said.flight, look)
  }
}

function untouched(leg: LegState, outcome: LegOutcome): LegStep {
  return {
    before: leg,
    after: leg,
    outcome,
    moved: null,
    reidentified: null,
    retimed: null,
    repriced: null,
    heldLoss: false,
    borneOut: false,
  }
}

function decideAbsence(leg: LegState, look: Look): LegStep {
  const { counters, moved, held } = countAnswer(leg, 'unavailable', look)
  // A sold-out flight has no price: that of a later return must not be guessed from before.
  const after = { ...leg, ...counters, price: moved ? null : leg.price }
  const borneOut = after.belief === 'unavailable'
  return { ...untouched(leg, 'unavailable'), after, moved, heldLoss: held, borneOut }
}

function decidePresence(leg: LegState, flight: ObservedFlight, look: Look): LegStep {
  const seen = recognise(leg, flight, look.askedAt)
  if (seen.kind === 'strange') {
    const mismatch = untouched(leg, 'unknown:identity_mismatch')
    return { ...mismatch, after: { ...leg, strange: seen.strange } }
  }
  const reidentified = seen.kind === 'settled' ? seen.changed : null
  const known = reidentified ? { ...leg, ...flightFields(flight), price: null } : leg
  const counted = countAnswer(known, 'available', look)
  const step = {
    ...untouched(leg, 'available'),
    after: { ...known, ...counted.counters, strange: null },
    moved: counted.moved,
    reidentified,
  }
  // A gain that waits for confirmation is not believed yet, nor is what its answer says of price and times.
  return step.after.belief === 'available' ? adoptFlight(step, flight, look) : step
}

/** Takes price and itinerary from the answer of a leg that is believed available. */
function adoptFlight(step: LegStep, flight: ObservedFlight, { askedAt }: Look): LegStep {
  const { before, after, moved, reidentified } = step
  // An unreadable price is no news: the last known one stays, but this answer does not vouch for it.
  const news = flight.price !== null && !sameMoney(flight.price, after.price)
  const price = news ? flight.price : after.price
  const retimed = after.itinerary !== flight.itinerary
  const fresh = moved !== null || reidentified !== null
  const changed = fresh ? null : { lastGoodCheckAt: before.agreedAt, detectedAt: askedAt }
  return {
    ...step,
    after: { ...after, ...(retimed ? flightFields(flight) : {}), price },
    retimed: retimed ? changed : null,
    repriced: news ? changed : null,
    borneOut: flight.price !== null || price === null,
  }
}

/** The summary follows the identity and the itinerary: what people are shown changes with a record only. */
function flightFields({ identity, itinerary, flight }: ObservedFlight) {
  return { identity, itinerary, flight }
}
