import type { HeldKind, UnknownReason } from '../../base/kinds.ts'
import type { LegObservation, ObservedFlight } from '../../upstream/observation.ts'
import { decidePrice } from './decide-price.ts'
import { isPastAtFirstSight } from './departure.ts'
import { type CandidateFlight, type LegState, NO_PRICE } from './fare-state.ts'

/** Contradicting answers less than this apart count once: half the time until a confirmation. */
export const COUNT_GAP_MS = 10_000
/** Another flight must be shown twice, this far apart: one cached answer must not confirm itself. */
const IDENTITY_GAP_MS = 20_000

export interface DecisionRules {
  /** Answers in a row that make a leg unavailable. */
  readonly lossConfirmations: number
  /** Answers in a row that make an unavailable leg available. */
  readonly gainConfirmations: number
  /** The second contradiction counts this long after the first at the earliest, the third twice as long after it. */
  readonly countGapMs: number
  /** The kinds of changes that an open incident holds: they are not believed until it ends. */
  readonly holds: readonly HeldKind[]
}

/** A check that is being decided. */
export interface CheckContext {
  readonly askedAt: string
  readonly rules: DecisionRules
  /** Whether the pair was believed bookable before the check: then its price is shown. */
  readonly wasBookable: boolean
  /** Whether the known departure has passed, as of a fare whose end an incident holds. No flight is sold after it. */
  readonly hasDeparted: boolean
}

/** When something happened: after `lastGoodCheckAt`, and by `detectedAt`, when an answer first showed it. */
export interface Interval {
  readonly lastGoodCheckAt: string | null
  readonly detectedAt: string
}

/** How the metrics count one leg of a check. */
export type LegOutcome = 'available' | 'unavailable' | `unknown:${UnknownReason}`

/** What one answer changes of one leg. */
export interface LegStep {
  readonly before: LegState
  readonly after: LegState
  readonly outcome: LegOutcome
  /** When the belief changed. If it or the identity changed, `retimed` and `repriced` are null. */
  readonly moved: Interval | null
  readonly reidentified: Interval | null
  readonly retimed: Interval | null
  readonly repriced: Interval | null
  /** Whether the answer showed a departure that was past at first sight. */
  readonly past: boolean
  /** The changes that the answer would have made, had no incident held them. */
  readonly held: readonly HeldKind[]
  /** Whether the answer itself showed everything that the belief says of the leg after this step. */
  readonly confirmed: boolean
}

/** Decides what one answer means for one leg. */
export function decideLeg(leg: LegState, answer: LegObservation, context: CheckContext): LegStep {
  switch (answer.kind) {
    case 'unknown':
      return unchanged(leg, `unknown:${answer.reason}`)
    case 'unavailable':
      return context.hasDeparted ? unchanged(leg, 'unavailable') : decideAbsence(leg, context)
    case 'available':
      return decidePresence(leg, answer.flight, context)
  }
}

/** The step of an answer that changes nothing of its leg. */
export function unchanged(leg: LegState, outcome: LegOutcome): LegStep {
  return {
    before: leg,
    after: leg,
    outcome,
    moved: null,
    reidentified: null,
    retimed: null,
    repriced: null,
    past: false,
    held: [],
    confirmed: false,
  }
}

function decideAbsence(leg: LegState, context: CheckContext): LegStep {
  const { counters, moved, held } = countAnswer(leg, 'unavailable', context)
  // After a loss the price is unknown: the old one may not be that of the flight when it returns.
  const after = { ...leg, ...counters, ...(moved ? NO_PRICE : {}) }
  const confirmed = after.belief === 'unavailable'
  const step = { ...unchanged(leg, 'unavailable'), after, moved, confirmed }
  return held ? { ...step, held: ['became_unavailable'] } : step
}

function decidePresence(leg: LegState, flight: ObservedFlight, context: CheckContext): LegStep {
  if (isPastAtFirstSight(leg, flight, context.askedAt)) {
    return { ...unchanged(leg, 'unknown:contract_violation'), past: true }
  }
  const match = matchIdentity(leg, flight, context.askedAt)
  const isHeld = match.kind === 'replaced' && context.rules.holds.includes('identity_changed')
  if (match.kind === 'candidate' || isHeld) {
    const mismatch = unchanged(leg, 'unknown:identity_mismatch')
    const { candidate } = match.kind === 'candidate' ? match : leg
    return { ...mismatch, after: { ...leg, candidate }, held: isHeld ? ['identity_changed'] : [] }
  }
  const reidentified = match.kind === 'replaced' ? match.changed : null
  const known = reidentified ? { ...leg, ...flightFields(flight), ...NO_PRICE } : leg
  const counted = countAnswer(known, 'available', context)
  const step = {
    ...unchanged(leg, 'available'),
    after: { ...known, ...counted.counters, candidate: null },
    moved: counted.moved,
    reidentified,
  }
  // Until a gain is confirmed, neither the price nor the times of its answers are believed.
  return step.after.belief === 'available' ? takeFlight(step, flight, context) : step
}

/** Takes price and itinerary from the answer for a leg that is believed available. */
function takeFlight(
  step: LegStep,
  flight: ObservedFlight,
  { askedAt, rules: { countGapMs, holds }, wasBookable }: CheckContext,
): LegStep {
  const { before, after, moved, reidentified } = step
  const priced = decidePrice(after, {
    seen: flight.price,
    askedAt,
    countGapMs,
    wasBookable,
    holds: holds.includes('price_changed'),
  })
  const differs = after.itinerary !== flight.itinerary
  // The first itinerary of a leg is no change.
  const isHeld = differs && after.itinerary !== null && holds.includes('itinerary_changed')
  const isRetimed = differs && !isHeld
  const isReplaced = moved !== null || reidentified !== null
  const changed = (detectedAt: string | null) =>
    isReplaced || detectedAt === null ? null : { lastGoodCheckAt: before.confirmedAt, detectedAt }
  return {
    ...step,
    after: { ...after, ...(isRetimed ? flightFields(flight) : {}), ...priced.after },
    retimed: changed(isRetimed ? askedAt : null),
    repriced: changed(priced.detectedAt),
    held: [
      ...(isHeld ? ['itinerary_changed' as const] : []),
      ...(priced.held ? ['price_changed' as const] : []),
    ],
    confirmed: !isHeld && (priced.after.priceReason === null || priced.after.price === null),
  }
}

/** The summary changes with the identity and the itinerary alone: what is shown changes only with a record. */
function flightFields({ identity, itinerary, flight }: ObservedFlight) {
  return { identity, itinerary, flight }
}

interface CountedAnswer {
  readonly counters: Pick<LegState, 'belief' | 'contradictions' | 'contradictedSince'>
  /** When the belief changed; null where it did not. */
  readonly moved: Interval | null
  /** Whether an open incident keeps the answer from being believed. */
  readonly held: boolean
}

/**
 * Counts an answer for or against the belief of a leg, and changes the belief when enough agree.
 *
 * Answers less than `countGapMs` apart count once: they may show the same outage, and a caller that verifies on demand
 * twice in a second must not confirm it.
 *
 * A leg of which nothing is known becomes available with the first answer, whatever GAIN_CONFIRMATIONS says: there is no
 * belief that it contradicts. It becomes unavailable like any other leg: a false "sold out" costs as much as a false loss.
 */
function countAnswer(
  leg: LegState,
  answer: 'available' | 'unavailable',
  { askedAt, rules }: CheckContext,
): CountedAnswer {
  if (answer === leg.belief) return agreed(answer)
  // The contradictions counted until now said "unavailable": they do not count for this answer.
  if (answer === 'available' && leg.belief === 'unknown') return moved(leg, answer, askedAt)

  const { lossConfirmations, gainConfirmations, holds } = rules
  const contradictions = leg.contradictions + (isCounted(leg, askedAt, rules.countGapMs) ? 1 : 0)
  const contradictedSince = leg.contradictedSince ?? askedAt
  const needed = answer === 'unavailable' ? lossConfirmations : gainConfirmations
  // A held loss is counted. When the incident has ended, one more such answer makes it believed.
  const held = answer === 'unavailable' && holds.includes('became_unavailable')
  if (contradictions >= needed && !held) return moved(leg, answer, contradictedSince)
  return { counters: { belief: leg.belief, contradictions, contradictedSince }, moved: null, held }
}

/** Whether a contradiction counts: the first always, the second one gap after the first, the third two gaps after it. */
function isCounted(
  { contradictions, contradictedSince }: LegState,
  askedAt: string,
  countGapMs: number,
): boolean {
  if (contradictedSince === null) return true
  return Date.parse(askedAt) - Date.parse(contradictedSince) >= contradictions * countGapMs
}

function agreed(belief: 'available' | 'unavailable'): CountedAnswer {
  return {
    counters: { belief, contradictions: 0, contradictedSince: null },
    moved: null,
    held: false,
  }
}

function moved(
  leg: LegState,
  belief: 'available' | 'unavailable',
  detectedAt: string,
): CountedAnswer {
  return { ...agreed(belief), moved: { lastGoodCheckAt: leg.confirmedAt, detectedAt } }
}

/** Whether an answer shows the flight that is known. */
type IdentityMatch =
  | { readonly kind: 'same' }
  /** Another flight: the answer says nothing of the known one. */
  | { readonly kind: 'candidate'; readonly candidate: CandidateFlight }
  /** Another flight for the second time: it is the leg's flight from now on. */
  | { readonly kind: 'replaced'; readonly changed: Interval }

/**
 * Compares the flight of an answer with the known one. The first flight that is believed is the known one.
 *
 * The same other flight must be shown twice, IDENTITY_GAP_MS apart. A third flight in between replaces the candidate. An
 * answer without a flight does not say which one it would be, so the candidate stays.
 */
function matchIdentity(leg: LegState, flight: ObservedFlight, askedAt: string): IdentityMatch {
  if (leg.identity === null || leg.identity === flight.identity) return { kind: 'same' }
  const { candidate, confirmedAt } = leg
  if (candidate?.identity !== flight.identity) {
    const { identity, itinerary } = flight
    const seen = { identity, itinerary, firstSeenAt: askedAt, lastGoodCheckAt: confirmedAt }
    return { kind: 'candidate', candidate: seen }
  }
  const { firstSeenAt: detectedAt, lastGoodCheckAt } = candidate
  if (Date.parse(askedAt) - Date.parse(detectedAt) < IDENTITY_GAP_MS) {
    return { kind: 'candidate', candidate }
  }
  return { kind: 'replaced', changed: { lastGoodCheckAt, detectedAt } }
}
