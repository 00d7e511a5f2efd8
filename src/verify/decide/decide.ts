import type { LegObservation, Observation } from '../../upstream/observation.ts'
import { decideLeg, type LegOutcome, type LegStep } from './decide-leg.ts'
import { changesOf, type FareChange } from './fare-change.ts'
import { type FareState, pairOf } from './fare-state.ts'
import type { DecisionRules, Look } from './leg-belief.ts'
import type { LegState } from './leg-state.ts'
import { type NextTurn, nextTurn } from './next-turn.ts'

export type { DecisionRules, FareChange }

export interface DecisionInput {
  /** When the request began, by the database's clock; later than that of the last decided answer. */
  readonly askedAt: Date
  readonly observation: Observation
}

export interface Decision {
  readonly state: FareState
  readonly changes: readonly FareChange[]
  readonly next: NextTurn
  readonly outcome: { readonly outbound: LegOutcome; readonly return: LegOutcome | null }
  /** Whether the state of every leg was told: the age of the belief starts anew. */
  readonly good: boolean
  /** Whether the answer showed all that is believed after it, of every leg. */
  readonly borneOut: boolean
  /** Whether a leg said to be unavailable was kept from being believed so by an open incident. */
  readonly heldLoss: boolean
}

/** An answer that leaves a leg out says nothing of it. */
const LEFT_OUT: LegObservation = { kind: 'unknown', reason: 'id_missing' }

/**
 * Decides what one answer of the upstream means for a tracked fare: what is believed now, which changes that
 * confirms, and when to look again. Pure and total; docs/reference/availability-states.md is its table of cases.
 *
 * An answer that tells nothing of a leg changes nothing of that leg, not even a count: unknown is not unavailable.
 */
export function decide(
  state: FareState,
  { askedAt, observation }: DecisionInput,
  rules: DecisionRules,
): Decision {
  const look: Look = { askedAt: askedAt.toISOString(), rules }
  const outbound = decideLeg(state.outbound, observation.outbound, look)
  const back = state.return && decideLeg(state.return, observation.return ?? LEFT_OUT, look)
  const steps = back === null ? [outbound] : [outbound, back]
  const good = steps.every((step) => !step.outcome.startsWith('unknown:'))
  const goodAt = good ? look.askedAt : null
  const after: FareState = {
    outbound: vouchedLeg(outbound, goodAt),
    return: back && vouchedLeg(back, goodAt),
    lastGoodCheckAt: goodAt ?? state.lastGoodCheckAt,
    everAvailableAt: state.everAvailableAt,
  }
  return {
    state: withFirstAvailable(after, look.askedAt),
    changes: changesOf({ before: state, after }, steps),
    next: nextTurn(steps, look, good),
    outcome: { outbound: outbound.outcome, return: back?.outcome ?? null },
    good,
    borneOut: steps.every((step) => step.borneOut),
    heldLoss: steps.some((step) => step.heldLoss),
  }
}

/** The interval of a later change begins with the last good check that still showed what was believed. */
function vouchedLeg({ after, borneOut }: LegStep, goodAt: string | null): LegState {
  return borneOut && goodAt !== null ? { ...after, agreedAt: goodAt } : after
}

function withFirstAvailable(state: FareState, askedAt: string): FareState {
  if (state.everAvailableAt !== null || pairOf(state) !== 'bookable') return state
  return { ...state, everAvailableAt: askedAt }
}
