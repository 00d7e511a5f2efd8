import type { HeldKind } from '../../base/kinds.ts'
import { PREPARED, sql, type Tx } from '../../db/database.ts'
import type { RecheckRules } from '../../recheck/recheck-rules.ts'
import type { LegObservation } from '../../upstream/observation.ts'
import { decideChecks, type RecordArgs, type RecordedCheck } from '../checks/record-checks.ts'
import type { FareChange } from '../decide/decide.ts'
import type { DecisionRules } from '../decide/decide-leg.ts'
import { isUnusual } from '../decide/decide-price.ts'
import type { LegState } from '../decide/fare-state.ts'
import {
  applyAssessment,
  endAcceptance,
  type IncidentTransition,
  isMassAccepted,
} from './change-incidents.ts'
import {
  isMass,
  isMassOver,
  isMassRecorded,
  isTroubleOver,
  isUpstreamTrouble,
  MASS_RULES,
  type MassRule,
} from './incident.ts'
import { readCheckCounts, readMassCounts, readOpenKinds } from './incident-queries.ts'

type Rules = DecisionRules & RecheckRules

export interface GuardArgs extends Omit<RecordArgs, 'rules'> {
  readonly rules: Omit<Rules, 'holds'>
}

export interface GuardedRules {
  readonly rules: Rules
  /** Report these after the commit. */
  readonly transitions: readonly IncidentTransition[]
}

/** The masses that answers make. A mass of ends is found when the fares end (guard-ends.ts). */
const ANSWER_RULES = MASS_RULES.filter(({ holds }) => holds !== 'expired')

/**
 * Returns the rules that decide a batch. Changes of a kind are held while the incident of their mass is open, or if this
 * batch opens it; losses also during upstream trouble. All other changes are recorded.
 *
 * The counts that open an incident also close it: a mass when recent and waiting changes are no longer one, upstream
 * trouble when at least half of the checks are good again. What was held is then checked again. A mass that an operator
 * has closed is accepted, and opens no incident until it is recorded. If no more checks come, a tick closes the incident
 * (`closeUncheckedIncidents`).
 */
export async function guardChanges(tx: Tx, args: GuardArgs): Promise<GuardedRules> {
  const unguarded = decideChecks({ ...args, rules: { ...args.rules, holds: [] } })
  await countChecks(tx, args, unguarded)
  const open = await readOpenKinds(tx)
  const holds = new Set<HeldKind>()
  const transitions: IncidentTransition[] = []
  for (const rule of ANSWER_RULES) {
    const changing = faresWith(unguarded, rule.holds)
    const assessed = await assessMass(tx, rule, { changing, isOpen: open.includes(rule.kind) })
    if (assessed.isOngoing) holds.add(rule.holds)
    transitions.push(...assessed.transitions)
  }
  const trouble = await assessTrouble(tx, open.includes('upstream_trouble'))
  if (trouble.isOngoing) holds.add('became_unavailable')
  return {
    rules: { ...args.rules, holds: [...holds] },
    transitions: [...transitions, ...trouble.transitions],
  }
}

interface Assessed {
  readonly isOngoing: boolean
  readonly transitions: readonly IncidentTransition[]
}

/** Opens or closes the incident of a mass of changes. `changing` are the fares that would change now. */
export async function assessMass(
  tx: Tx,
  rule: MassRule,
  { changing, isOpen }: { readonly changing: readonly number[]; readonly isOpen: boolean },
): Promise<Assessed> {
  // Counting costs more than everything else that records a batch, so it runs only if it can change the outcome.
  if (changing.length === 0 && !isOpen) return { isOngoing: false, transitions: [] }
  const counts = await readMassCounts(tx, rule, changing)
  if (!isOpen && (await isMassAccepted(tx, rule))) {
    if (isMassRecorded(counts)) await endAcceptance(tx, rule)
    return { isOngoing: false, transitions: [] }
  }
  const isOngoing = isOpen ? !isMassOver(counts) : isMass(counts)
  const assessment = { kind: rule.kind, isOpen, isOngoing, counts } as const
  return { isOngoing, transitions: await applyAssessment(tx, assessment) }
}

async function assessTrouble(tx: Tx, isOpen: boolean): Promise<Assessed> {
  const counts = await readCheckCounts(tx, { open: isOpen })
  const isOngoing = isOpen ? !isTroubleOver(counts) : isUpstreamTrouble(counts)
  const assessment = { kind: 'upstream_trouble', isOpen, isOngoing, counts } as const
  return { isOngoing, transitions: await applyAssessment(tx, assessment) }
}

function faresWith(decided: readonly RecordedCheck[], kind: HeldKind): number[] {
  return decided
    .filter(({ decision }) =>
      decision.changes.some((change) => change.kind === kind && isGuarded(change)),
    )
    .map(({ fareId }) => fareId)
}

/** An ordinary change of price is no sign of wrong answers, however many fares have one. */
function isGuarded({ kind, before, after }: FareChange): boolean {
  if (kind !== 'price_changed') return true
  return before.price !== null && after.price !== null && isUnusual(after.price, before.price)
}

/** Adds the batch to the counts by minute that decide whether there is upstream trouble. */
async function countChecks(
  tx: Tx,
  { checks }: GuardArgs,
  unguarded: readonly RecordedCheck[],
): Promise<void> {
  if (checks.length === 0) return
  await sql`${PREPARED}
    insert into check_minute as m (minute, checks, unknown)
    values (date_trunc('minute', clock_timestamp()), ${checks.length}, ${unguarded.filter(isTrouble).length})
        on conflict (minute) do update
       set checks = m.checks + excluded.checks, unknown = m.unknown + excluded.unknown
  `.execute(tx)
}

/**
 * Whether the upstream did not answer the question, or showed a known flight with another departure that has passed.
 *
 * The rest may be faults of the question: a 4xx, and of a flight that was never seen an answer without its id or a past
 * departure. However many of them a reseller adds, the other fares are checked as often, and their losses are believed.
 */
function isTrouble({
  check: { observation },
  decision: { past, next, state },
}: RecordedCheck): boolean {
  if (past) return next !== 'hourly'
  return (
    isUnanswered(observation.outbound, state.outbound) ||
    isUnanswered(observation.return, state.return)
  )
}

function isUnanswered(answer: LegObservation | null, known: LegState | null): boolean {
  if (answer?.kind !== 'unknown' || answer.reason === 'http_4xx') return false
  return answer.reason !== 'id_missing' || known?.identity != null
}
