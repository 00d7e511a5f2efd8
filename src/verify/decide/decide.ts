import type { FareChangeKind, HeldKind, LossReason } from '../../base/kinds.ts'
import type { FollowUp } from '../../recheck/reschedule.ts'
import type { LegObservation, Observation } from '../../upstream/observation.ts'
import {
  type CheckContext,
  type DecisionRules,
  decideLeg,
  type Interval,
  type LegOutcome,
  type LegStep,
  unchanged,
} from './decide-leg.ts'
import { departsAt, lossReason } from './departure.ts'
import { type FareState, type FareView, type LegState, pairOf, viewOf } from './fare-state.ts'

export interface DecisionInput {
  /** When the request began, by the database's clock; later than that of the last decided answer. */
  readonly askedAt: Date
  readonly observation: Observation
}

/** A confirmed change: it happened after `lastGoodCheckAt` (null: nothing was known) and by `detectedAt`. */
export interface FareChange {
  readonly kind: FareChangeKind
  /** Null except for `became_unavailable`. */
  readonly reason: LossReason | null
  readonly before: FareView
  readonly after: FareView
  /** When the last good check began that showed what was believed before. */
  readonly lastGoodCheckAt: string | null
  /** When the first check began that contradicted it. */
  readonly detectedAt: string
}

export interface Decision {
  readonly state: FareState
  readonly changes: readonly FareChange[]
  readonly next: FollowUp
  readonly outcome: { readonly outbound: LegOutcome; readonly return: LegOutcome | null }
  /** Whether the answer showed the state of every leg: the age of the belief begins again. */
  readonly good: boolean
  /** Whether the answer showed a departure that was past at first sight. */
  readonly past: boolean
  /** The changes that an open incident keeps from being believed. */
  readonly held: readonly HeldKind[]
}

/** An answer that leaves out a leg says nothing of it. */
const LEFT_OUT: LegObservation = { kind: 'unknown', reason: 'id_missing' }

/**
 * Decides what one answer of the upstream means for a tracked fare: what is believed now, which changes that
 * confirms, and what follows the check. Pure and total; docs/reference/availability-states.md is its table of cases.
 *
 * An answer that says nothing of a leg changes nothing of that leg, not even a count: unknown is not unavailable.
 */
export function decide(
  state: FareState,
  { askedAt, observation }: DecisionInput,
  rules: DecisionRules,
): Decision {
  const context: CheckContext = {
    askedAt: askedAt.toISOString(),
    rules,
    wasBookable: pairOf(state) === 'bookable',
    hasDeparted: Date.parse(departsAt(state) ?? '') <= askedAt.getTime(),
  }
  const one = decideLeg(state.outbound, observation.outbound, context)
  const other = state.return && decideLeg(state.return, observation.return ?? LEFT_OUT, context)
  const outbound = withoutLoneGain(one, other)
  const back = other && withoutLoneGain(other, one)
  const steps = back === null ? [outbound] : [outbound, back]
  const good = steps.every((step) => !step.outcome.startsWith('unknown:'))
  const goodAt = good ? context.askedAt : null
  const after: FareState = {
    outbound: withConfirmation(outbound, goodAt),
    return: back && withConfirmation(back, goodAt),
    lastGoodCheckAt: goodAt ?? state.lastGoodCheckAt,
    everAvailableAt: state.everAvailableAt,
  }
  return {
    state: withFirstAvailable(after, context.askedAt),
    changes: changesOf({ before: state, after }, steps, context.askedAt),
    next: followUpOf(steps, context, good),
    outcome: { outbound: outbound.outcome, return: back?.outcome ?? null },
    good,
    past: steps.some((step) => step.past),
    held: [...new Set(steps.flatMap((step) => step.held))],
  }
}

/**
 * If the other leg is believed available, a gain makes the pair bookable. Such a gain counts only if the same answer shows that
 * leg available too: otherwise a pair would become bookable while its other leg is being lost.
 */
function withoutLoneGain(step: LegStep, other: LegStep | null): LegStep {
  const isGain = step.outcome === 'available' && step.before.belief !== 'available'
  const isLone = other?.after.belief === 'available' && other.outcome !== 'available'
  return isGain && isLone ? unchanged(step.before, step.outcome) : step
}

/** The interval of a later change begins with the last good check that showed what was believed. */
function withConfirmation({ after, confirmed }: LegStep, goodAt: string | null): LegState {
  return confirmed && goodAt !== null ? { ...after, confirmedAt: goodAt } : after
}

function withFirstAvailable(state: FareState, askedAt: string): FareState {
  if (state.everAvailableAt !== null || pairOf(state) !== 'bookable') return state
  return { ...state, everAvailableAt: askedAt }
}

/**
 * For how long a confirmation that gets no answer is repeated. After that the fare waits for its next check by the
 * schedule: one that answers 404 from its first loss on would otherwise be asked every 20 s for ever.
 */
const CONFIRM_TIMEOUT_MS = 10 * 60_000

function followUpOf(steps: readonly LegStep[], context: CheckContext, good: boolean): FollowUp {
  const isPending = (step: LegStep) =>
    awaitsConfirmation(step, context) || awaitsCandidate(step, context)
  if (steps.some(isPending)) return 'confirm'
  if (steps.some(isPastAndUnknown)) return 'hourly'
  return good ? 'normal' : 'retry'
}

/** Of a fare that was never seen otherwise. One with a known flight is asked as before: the answer is wrong for a time. */
function isPastAndUnknown({ past, before }: LegStep): boolean {
  return past && before.identity === null
}

/** A held change is asked again when the incident ends: confirmations of all of them at once would take the whole budget. */
function awaitsConfirmation({ before, after }: LegStep, { askedAt, rules }: CheckContext): boolean {
  if (after.contradictedSince === null) return false
  if (rules.holds.includes('became_unavailable') && after.belief !== 'unavailable') return false
  return (
    after.contradictions !== before.contradictions || isRecent(after.contradictedSince, askedAt)
  )
}

/**
 * A candidate that replaces another candidate waits for the next check by the schedule: such an upstream may show a new
 * flight, or a new price, every time. So does the candidate of a flight that is sold out now: there is nothing to confirm.
 */
function awaitsCandidate(
  { before, after, outcome }: LegStep,
  { askedAt, rules }: CheckContext,
): boolean {
  if (outcome === 'unavailable') return false
  const candidates = [
    { kind: 'identity_changed', was: before.candidate, is: after.candidate },
    { kind: 'price_changed', was: before.candidatePrice, is: after.candidatePrice },
  ] as const
  return candidates.some(({ kind, was, is }) => {
    if (!is || rules.holds.includes(kind) || (was && was.firstSeenAt !== is.firstSeenAt))
      return false
    return isRecent(is.firstSeenAt, askedAt)
  })
}

function isRecent(since: string, askedAt: string): boolean {
  return Date.parse(askedAt) - Date.parse(since) < CONFIRM_TIMEOUT_MS
}

type Found = Interval & { readonly kind: FareChangeKind }

/**
 * Names what one check changed, in a fixed order: identity, availability, itinerary, price.
 *
 * All records of a check share `before` and `after`: no state in between was believed. Another flight, and entering or
 * leaving `bookable`, include the changes of price and itinerary of the same check: `after` shows them, and the price of
 * another flight is no change of price.
 */
function changesOf(
  states: { readonly before: FareState; readonly after: FareState },
  steps: readonly LegStep[],
  askedAt: string,
): FareChange[] {
  const greater = [identityChange(steps), beliefChange(states, steps)].filter((f) => f !== null)
  const includesAll = greater.some(({ kind }) => kind !== 'legs_changed')
  const lesser = includesAll ? [] : [itineraryChange(steps), priceChange(states.after, steps)]
  const found = [...greater, ...lesser.filter((f) => f !== null)]
  if (found.length === 0) return []
  const before = viewOf(states.before)
  const after = viewOf(states.after)
  return found.map((change) => {
    const reason = change.kind === 'became_unavailable' ? lossReason(states.after, askedAt) : null
    return { before, after, reason, ...change }
  })
}

/** Only of a leg that was available: no identity is shown of one that was not, so none can be seen to change. */
function identityChange(steps: readonly LegStep[]): Found | null {
  return spanOf('identity_changed', steps, ({ before, reidentified }) =>
    before.belief === 'available' ? reidentified : null,
  )
}

function beliefChange(
  states: { readonly before: FareState; readonly after: FareState },
  steps: readonly LegStep[],
): Found | null {
  const was = pairOf(states.before) === 'bookable'
  const is = pairOf(states.after) === 'bookable'
  if (was && !is) return spanOf('became_unavailable', steps, (step) => step.moved)
  if (was || !is) return spanOf('legs_changed', steps, (step) => step.moved)
  const entered = spanOf('became_available', steps, (step) => step.moved)
  // The pair was bookable no earlier than its last leg.
  return entered && { ...entered, detectedAt: latest(steps) ?? entered.detectedAt }
}

function itineraryChange(steps: readonly LegStep[]): Found | null {
  return spanOf('itinerary_changed', steps, (step) => step.retimed)
}

/**
 * The fare's price is the pair's: while the pair is not bookable, the price of a leg changes without a record. A pair that
 * becomes bookable with this check has no price change of its own (see `changesOf`).
 */
function priceChange(after: FareState, steps: readonly LegStep[]): Found | null {
  if (pairOf(after) !== 'bookable') return null
  return spanOf('price_changed', steps, (step) => step.repriced)
}

/** One change of several legs has the widest of their intervals; null where no leg has the change. */
function spanOf(
  kind: FareChangeKind,
  steps: readonly LegStep[],
  of: (step: LegStep) => Interval | null,
): Found | null {
  const intervals = steps.map(of).filter((interval) => interval !== null)
  const [detectedAt] = intervals.map((interval) => interval.detectedAt).sort()
  if (detectedAt === undefined) return null
  const begins = intervals.map((interval) => interval.lastGoodCheckAt)
  const lastGoodCheckAt = begins.includes(null) ? null : (begins.sort()[0] ?? null)
  return { kind, lastGoodCheckAt, detectedAt }
}

function latest(steps: readonly LegStep[]): string | undefined {
  return steps
    .flatMap((step) => step.moved?.detectedAt ?? [])
    .sort()
    .at(-1)
}
