import { HELD_BY, type HeldKind, MASS_KINDS, type MassKind } from '../../platform/base/kinds.ts'
import type { Tx } from '../../platform/db/database.ts'
import type { LegObservation } from '../../upstream/observation.ts'
import type { CountedCheck, RecordedCheck } from '../check/belief-store.ts'
import { askedLegsOf } from '../check/record-checks.ts'
import { CROWD, type DecisionRules, type MassContext } from '../decide/confirmations.ts'
import type { FareView } from '../decide/fare-state.ts'
import { applyAssessment, type IncidentTransition } from './change-incidents.ts'
import {
  type AskedFlight,
  addCheckCounts,
  type IncidentStates,
  insertAsked,
  isMass,
  isTroubleOver,
  isUpstreamTrouble,
  readIncidentStates,
  readMasses,
  readTroubleCounts,
} from './incidents.ts'

interface Guarded {
  readonly context: MassContext
  /** The incidents before the batch. */
  readonly states: IncidentStates
  /** Report these after the commit. */
  readonly transitions: readonly IncidentTransition[]
}

/**
 * Finds the masses of changes by which a batch is decided. A mass opens an incident, and the counts that open it
 * also close it; what it held is then checked again. If no more checks come, a tick closes it
 * (`closeUncheckedIncidents`).
 */
export async function guardChanges(
  tx: Tx,
  counted: readonly CountedCheck[],
  rules: DecisionRules,
): Promise<Guarded> {
  const states = await readIncidentStates(tx)
  const asked = askedLegsOf(counted, { rules, releasedAt: states.releasedAt })
  return { ...(await guardAsked(tx, { asked, states, withinMs: rules.massHoldMs })), states }
}

interface AskedArgs {
  readonly asked: readonly AskedFlight[]
  readonly states: IncidentStates
  /** The masses that are assessed; all of them, if unset. */
  readonly masses?: readonly MassKind[]
  readonly withinMs: number
}

export async function guardAsked(
  tx: Tx,
  { asked, states: { open, releasedAt }, masses: assessed = MASS_KINDS, withinMs }: AskedArgs,
): Promise<Omit<Guarded, 'states'>> {
  await insertAsked(tx, asked)
  const isQuiet =
    asked.every(({ shows }) => shows === null) && !assessed.some((mass) => open.has(mass))
  if (isQuiet) {
    return { context: { masses: new Set(), crowded: false, releasedAt }, transitions: [] }
  }
  const { counts, gains } = await readMasses(tx, withinMs)
  const masses = new Set<HeldKind>()
  const transitions: IncidentTransition[] = []
  for (const mass of assessed) {
    const held = HELD_BY[mass]
    const found = counts.get(held) ?? { asked: 0, changed: 0 }
    const isOpen = open.has(mass)
    const isOngoing = isMass(found, { isOpen })
    if (isOngoing) masses.add(held)
    transitions.push(
      ...(await applyAssessment(tx, { kind: mass, isOpen, isOngoing, counts: found })),
    )
  }
  return { context: { masses, crowded: gains >= CROWD, releasedAt }, transitions }
}

/**
 * Counts a decided batch by the minute. Opens or closes upstream trouble, which slows the checks.
 * @param batch how many checks were made, those that were dropped included, and the incidents before them.
 */
export async function assessTrouble(
  tx: Tx,
  recorded: readonly RecordedCheck[],
  { checks, states: { open } }: { readonly checks: number } & Pick<Guarded, 'states'>,
): Promise<readonly IncidentTransition[]> {
  if (checks === 0) return []
  const unknown = recorded.filter(isTrouble).length
  const recent = await addCheckCounts(tx, { checks, unknown })
  const isOpen = open.has('upstream_trouble')
  const counts = isOpen ? await readTroubleCounts(tx) : recent
  const isOngoing = isOpen ? !isTroubleOver(counts) : isUpstreamTrouble(counts)
  return applyAssessment(tx, { kind: 'upstream_trouble', isOpen, isOngoing, counts })
}

/**
 * Whether the upstream did not answer the question, or showed a known flight with another departure that has passed.
 *
 * The rest may be faults of the question: a 4xx, and of a flight that was never seen an answer without its id or a past
 * departure. However many of them a reseller adds, the other fares are checked as often.
 */
function isTrouble({
  check: { observation },
  decision: { past, next, state },
}: RecordedCheck): boolean {
  if (past) return next !== 'hourly'
  const { outbound, return: back } = observation
  return isUnanswered(outbound, state.belief) || (back !== null && isUnanswered(back, state.belief))
}

function isUnanswered(answer: LegObservation, { pair }: FareView): boolean {
  if (answer.kind !== 'unknown' || answer.reason === 'http_4xx') return false
  return answer.reason !== 'id_missing' || pair !== 'unknown'
}
