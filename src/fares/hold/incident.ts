import type { HeldKind, IncidentKind, MassKind } from '../../platform/base/kinds.ts'

/** A time in which more flights change at once than a market changes, or most checks are unknown. */
export interface Incident {
  readonly id: number
  readonly kind: IncidentKind
  readonly openedAt: Date
  /** Null while it is open. */
  readonly closedAt: Date | null
}

/** What each mass holds. Upstream trouble holds nothing: it slows the checks. */
export const HELD_BY: Readonly<Record<MassKind, HeldKind>> = {
  mass_loss: 'became_unavailable',
  mass_gain: 'became_available',
  mass_identity_change: 'identity_changed',
  mass_itinerary_change: 'itinerary_changed',
  mass_price_change: 'price_changed',
  mass_expiry: 'expired',
}

export function isMassKind(kind: IncidentKind): kind is MassKind {
  return kind !== 'upstream_trouble'
}

/** What decides whether there is a mass of changes of one kind. */
export interface MassCounts {
  /** Of the last hundred flights asked that can show the kind, those asked within MASS_HOLD_MINUTES. */
  readonly asked: number
  /** Those of them whose last answer shows it. */
  readonly changed: number
}

/** What decides whether there is upstream trouble. */
export interface CheckCounts {
  readonly checks: number
  /** Those of the checks that were unknown for a reason that may lie with the upstream. */
  readonly unknown: number
}

/** A mass is judged by so many flights. */
export const MASS_FLIGHTS = 100
const MASS_SHARE = 0.3
const MASS_MINIMUM = 20
const TROUBLE_SHARE = 0.5
const TROUBLE_MINIMUM = 20
/** Few checks decide that trouble is over: it cuts the rate to a tenth of the budget, maybe to one check a minute. */
export const TROUBLE_OVER_MINIMUM = 5

/**
 * Whether so many flights change at once that the answers are more likely wrong than true: a credential with the wrong
 * scope, a provider that is down, dates or prices of another system. It is over at half of what begins it, so that a mass
 * at the limit is not released with every second batch.
 */
export function isMass({ asked, changed }: MassCounts, { isOpen }: { readonly isOpen: boolean }) {
  const part = isOpen ? 0.5 : 1
  return changed >= part * MASS_MINIMUM && changed > part * MASS_SHARE * asked
}

/** Whether so many checks are unknown that checking at the full rate would only add to the upstream's trouble. */
export function isUpstreamTrouble({ checks, unknown }: CheckCounts): boolean {
  return checks >= TROUBLE_MINIMUM && unknown > TROUBLE_SHARE * checks
}

/** Whether upstream trouble is over. It takes enough checks: too few prove nothing. */
export function isTroubleOver({ checks, unknown }: CheckCounts): boolean {
  return checks >= TROUBLE_OVER_MINIMUM && unknown <= TROUBLE_SHARE * checks
}
