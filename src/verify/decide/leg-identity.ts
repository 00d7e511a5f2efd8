import type { ObservedFlight } from '../../upstream/observation.ts'
import type { Interval } from './leg-belief.ts'
import type { LegState, StrangeFlight } from './leg-state.ts'

/** How far two looks at another flight must lie apart: one cached answer must not confirm itself. */
export const IDENTITY_GAP_MS = 20_000

/** Whether an answer speaks of the flight that we know. */
export type Recognition =
  | { readonly kind: 'known' }
  /** Another flight, whose answer tells nothing of ours. */
  | { readonly kind: 'strange'; readonly strange: StrangeFlight }
  /** Another flight, seen often enough: it is the leg's from now on. */
  | { readonly kind: 'settled'; readonly changed: Interval }

/**
 * Compares the flight of an answer with the one we know. The first flight that is believed is known.
 *
 * The same other flight must be seen twice, IDENTITY_GAP_MS apart. A third flight in between starts anew; an
 * answer without a flight says nothing about which one it would be, and leaves the first look standing.
 */
export function recognise(leg: LegState, flight: ObservedFlight, askedAt: string): Recognition {
  if (leg.identity === null || leg.identity === flight.identity) return { kind: 'known' }
  const { strange } = leg
  if (strange?.identity !== flight.identity) {
    const { identity, itinerary } = flight
    return {
      kind: 'strange',
      strange: { identity, itinerary, firstSeenAt: askedAt, lastGoodCheckAt: leg.agreedAt },
    }
  }
  const { firstSeenAt: detectedAt, lastGoodCheckAt } = strange
  if (Date.parse(askedAt) - Date.parse(detectedAt) < IDENTITY_GAP_MS) {
    return { kind: 'strange', strange }
  }
  return { kind: 'settled', changed: { lastGoodCheckAt, detectedAt } }
}
