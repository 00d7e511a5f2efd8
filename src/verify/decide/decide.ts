import type { FollowUp } from '../../recheck/reschedule.ts'
import type { LegObservation, Observation } from '../../upstream/observation.ts'
import {
  type CheckContext,
  type DecisionRules,
  decideLeg,
  type LegOutcome,
  type LegStep,
} from './decide-leg.ts'
import { changesOf, type FareChange } from './fare-change.ts'
import { type FareState, type LegState, pairOf } from './fare-state.ts'

export interface DecisionInput {
  /** When the request began, by the database's clock; later than that of the last decided answer. */
  readonly askedAt: Date
  readonly observation: Observation
}

export interface Decision {
  readonly state: FareState
  readonly changes: readonly FareChange[]
  readonly next: FollowUp
  readonly outcome: { readonly outbound: LegOutcome; readonly return: LegOutcome | null }
  /** Whether the answer showed the state of every leg: the age of the belief begins again. */
  readonly good: boolean
  /** Whether an open incident keeps a loss from being believed. */
  readonly heldLoss: boolean
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
  const context: CheckContext = { askedAt: askedAt.toISOString(), rules }
  const outbound = decideLeg(state.outbound, observation.outbound, context)
  const back = state.return && decideLeg(state.return, observation.return ?? LEFT_OUT, context)
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
    changes: changesOf({ before: state, after }, steps),
    next: followUpOf(steps, context, good),
    outcome: { outbound: outbound.outcome, return: back?.outcome ?? null },
    good,
    heldLoss: steps.some((step) => step.heldLoss),
  }
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
    awaitsConfirmation(step, context) || awaitsIdentity(step, context)
  if (steps.some(isPending)) return 'confirm'
  return good ? 'normal' : 'retry'
}

/** A held loss is asked again when the incident ends: confirmations of all of them at once would take the whole budget. */
function awaitsConfirmation({ before, after }: LegStep, { askedAt, rules }: CheckContext): boolean {
  if (after.contradictedSince === null) return false
  if (rules.holdLosses && after.belief !== 'unavailable') return false
  return (
    after.contradictions !== before.contradictions || isRecent(after.contradictedSince, askedAt)
  )
}

/**
 * A candidate that replaces another candidate waits for the next check by the schedule: such an upstream may show a new
 * flight every time. So does a candidate whose flight is sold out now: there is nothing to confirm.
 */
function awaitsIdentity({ before, after, outcome }: LegStep, { askedAt }: CheckContext): boolean {
  if (after.candidate === null || outcome === 'unavailable') return false
  if (before.candidate !== null && before.candidate.identity !== after.candidate.identity) {
    return false
  }
  return isRecent(after.candidate.firstSeenAt, askedAt)
}

function isRecent(since: string, askedAt: string): boolean {
  return Date.parse(askedAt) - Date.parse(since) < CONFIRM_TIMEOUT_MS
}
