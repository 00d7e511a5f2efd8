import type { LegStep } from './decide-leg.ts'
import type { Look } from './leg-belief.ts'

/** What the schedule does with a fare next: its turn, a second look in about 20 s, or one early retry. */
export type NextTurn = 'normal' | 'confirm' | 'retry'

/**
 * For how long an unanswered second look is repeated: past this, the fare waits for its turn. A fare that
 * answers 404 from its first loss on would otherwise be asked every 20 s for ever.
 */
export const CONFIRM_PATIENCE_MS = 10 * 60_000

export function nextTurn(steps: readonly LegStep[], look: Look, good: boolean): NextTurn {
  if (steps.some((step) => awaitsCount(step, look) || awaitsIdentity(step, look))) return 'confirm'
  return good ? 'normal' : 'retry'
}

/** A loss that an incident holds is asked again when the incident ends: all of them now would be the whole budget. */
function awaitsCount({ before, after }: LegStep, { askedAt, rules }: Look): boolean {
  if (after.againstSince === null) return false
  if (rules.holdLosses && after.belief !== 'unavailable') return false
  return after.against !== before.against || isRecent(after.againstSince, askedAt)
}

/**
 * A stranger that took another stranger's place waits for its turn: such an upstream may never settle. So does one
 * after which the flight is sold out: there is nothing to look at.
 */
function awaitsIdentity({ before, after, outcome }: LegStep, { askedAt }: Look): boolean {
  if (after.strange === null || outcome === 'unavailable') return false
  if (before.strange !== null && before.strange.identity !== after.strange.identity) return false
  return isRecent(after.strange.firstSeenAt, askedAt)
}

function isRecent(since: string, askedAt: string): boolean {
  return Date.parse(askedAt) - Date.parse(since) < CONFIRM_PATIENCE_MS
}
