import type { HeldKind, IncidentKind, MassKind } from '../../base/kinds.ts'

/** A time in which changes are held: more fares change at once than a market changes, or most checks are unknown. */
export interface Incident {
  readonly id: number
  readonly kind: IncidentKind
  readonly openedAt: Date
  /** Null while it is open. */
  readonly closedAt: Date | null
}

/** Which mass of changes opens an incident, and what the incident holds. */
export interface MassRule {
  readonly kind: MassKind
  readonly holds: HeldKind
}

/** Upstream trouble holds losses too. */
export const LOSS_RULE: MassRule = { kind: 'mass_loss', holds: 'became_unavailable' }

export const EXPIRY_RULE: MassRule = { kind: 'mass_expiry', holds: 'expired' }

export const MASS_RULES: readonly MassRule[] = [
  LOSS_RULE,
  { kind: 'mass_identity_change', holds: 'identity_changed' },
  { kind: 'mass_itinerary_change', holds: 'itinerary_changed' },
  { kind: 'mass_price_change', holds: 'price_changed' },
  EXPIRY_RULE,
]

/** The rule of a kind of incident; undefined for upstream trouble, which is judged by the answers, not by changes. */
export function massRuleOf(kind: IncidentKind): MassRule | undefined {
  return MASS_RULES.find((rule) => rule.kind === kind)
}

/** What decides whether there is a mass of changes of one kind. */
export interface MassCounts {
  /** Bookable fares that were asked in the last five minutes, plus those that changed in that time. */
  readonly asked: number
  /** Those of `asked` whose change was recorded in that time, or waits. */
  readonly changed: number
  /** Fares whose last answer showed a change that is not believed, however long ago: unconfirmed changes and held ones. */
  readonly waiting: number
}

/** What decides whether there is upstream trouble. */
export interface CheckCounts {
  readonly checks: number
  /** Those of the checks that were unknown for a reason that may lie with the upstream. */
  readonly unknown: number
}

const MASS_SHARE = 0.3
const MASS_MINIMUM = 20
const TROUBLE_SHARE = 0.5
const TROUBLE_MINIMUM = 20
/** Few checks decide that trouble is over: it cuts the rate to a tenth of the budget, maybe to one check a minute. */
export const TROUBLE_OVER_MINIMUM = 5

/**
 * Whether so many fares change at once that the answers are more likely wrong than true: a credential with the wrong
 * scope, a provider that is down, dates or prices of another system.
 *
 * The share is of the recently asked fares. Large watch lists are checked less often than every five minutes, and a
 * share of all fares would let a third of them change before the others were saved.
 */
export function isMass({ asked, changed }: Omit<MassCounts, 'waiting'>): boolean {
  return changed >= MASS_MINIMUM && changed > MASS_SHARE * asked
}

/** Whether a mass of changes is over. While changes wait, that takes enough recent answers: no answers prove nothing. */
export function isMassOver(counts: MassCounts): boolean {
  return !isMass(counts) && (counts.waiting < MASS_MINIMUM || counts.asked >= MASS_MINIMUM)
}

/** Whether all of an accepted mass is recorded, so that the next one opens an incident again. */
export function isMassRecorded(counts: MassCounts): boolean {
  return !isMass(counts) && counts.waiting < MASS_MINIMUM
}

/** Whether so many checks are unknown that checking at the full rate would only add to the upstream's trouble. */
export function isUpstreamTrouble({ checks, unknown }: CheckCounts): boolean {
  return checks >= TROUBLE_MINIMUM && unknown > TROUBLE_SHARE * checks
}

/** Whether upstream trouble is over. It takes enough checks: too few prove nothing. */
export function isTroubleOver({ checks, unknown }: CheckCounts): boolean {
  return checks >= TROUBLE_OVER_MINIMUM && unknown <= TROUBLE_SHARE * checks
}
