import { sql, type Tx } from '../../db/database.ts'
import type { RecheckRules } from '../../recheck/recheck-rules.ts'
import type { LegObservation } from '../../upstream/observation.ts'
import { decideChecks, type RecordArgs } from '../checks/record-checks.ts'
import type { DecisionRules } from '../decide/decide-leg.ts'
import {
  applyAssessment,
  endAcceptance,
  type IncidentTransition,
  isMassLossAccepted,
} from './change-incidents.ts'
import {
  isMassLoss,
  isMassLossOver,
  isMassLossRecorded,
  isTroubleOver,
  isUpstreamTrouble,
} from './incident.ts'
import { readCheckCounts, readLossCounts, readOpenKinds } from './incident-queries.ts'

type Rules = DecisionRules & RecheckRules

export interface GuardArgs extends Omit<RecordArgs, 'rules'> {
  readonly rules: Omit<Rules, 'holdLosses'>
}

export interface GuardedRules {
  readonly rules: Rules
  /** Report these after the commit. */
  readonly transitions: readonly IncidentTransition[]
}

/**
 * Returns the rules that decide a batch. Losses are held while an incident is open, or if this batch opens one. Gains
 * and price changes are recorded in either case.
 *
 * The counts that open an incident also close it: a mass loss when recent and waiting losses are no longer a mass,
 * upstream trouble when at least half of the checks are good again. The held losses are then checked again. A mass loss
 * that an operator has closed is accepted, and opens no incident until it is recorded. If no more checks come, a tick
 * closes the incident (`closeUncheckedIncidents`).
 */
export async function guardLosses(tx: Tx, args: GuardArgs): Promise<GuardedRules> {
  await countChecks(tx, args)
  const open = await readOpenKinds(tx)
  const rules = { ...args.rules, holdLosses: false }
  const massLoss = await assessMassLoss(tx, { ...args, rules }, open.includes('mass_loss'))
  const trouble = await assessTrouble(tx, open.includes('upstream_trouble'))
  return {
    rules: { ...rules, holdLosses: massLoss.isOngoing || trouble.isOngoing },
    transitions: [...massLoss.transitions, ...trouble.transitions],
  }
}

interface Assessed {
  readonly isOngoing: boolean
  readonly transitions: readonly IncidentTransition[]
}

async function assessMassLoss(tx: Tx, args: RecordArgs, isOpen: boolean): Promise<Assessed> {
  const losing = findLosses(args)
  // Counting costs more than everything else that records a batch, so it runs only if it can change the outcome.
  if (losing.length === 0 && !isOpen) return { isOngoing: false, transitions: [] }
  const counts = await readLossCounts(tx, losing)
  if (!isOpen && (await isMassLossAccepted(tx))) {
    if (isMassLossRecorded(counts)) await endAcceptance(tx)
    return { isOngoing: false, transitions: [] }
  }
  const isOngoing = isOpen ? !isMassLossOver(counts) : isMassLoss(counts)
  const assessment = { kind: 'mass_loss', isOpen, isOngoing, counts } as const
  return { isOngoing, transitions: await applyAssessment(tx, assessment) }
}

async function assessTrouble(tx: Tx, isOpen: boolean): Promise<Assessed> {
  const counts = await readCheckCounts(tx, { open: isOpen })
  const isOngoing = isOpen ? !isTroubleOver(counts) : isUpstreamTrouble(counts)
  const assessment = { kind: 'upstream_trouble', isOpen, isOngoing, counts } as const
  return { isOngoing, transitions: await applyAssessment(tx, assessment) }
}

/** The fares that this batch would lose. Most batches have no loss, and are then not decided a second time for this. */
function findLosses(args: RecordArgs): number[] {
  if (!args.checks.some(hasUnavailableLeg)) return []
  return decideChecks(args)
    .filter(({ decision }) =>
      decision.changes.some((change) => change.kind === 'became_unavailable'),
    )
    .map(({ fareId }) => fareId)
}

function hasUnavailableLeg({ observation }: RecordArgs['checks'][number]): boolean {
  return observation.outbound.kind === 'unavailable' || observation.return?.kind === 'unavailable'
}

/** Adds the batch to the counts by minute that decide whether there is upstream trouble. */
async function countChecks(tx: Tx, { checks }: GuardArgs): Promise<void> {
  if (checks.length === 0) return
  const unknown = checks.filter(
    ({ observation }) => isTrouble(observation.outbound) || isTrouble(observation.return),
  ).length
  await sql`
    insert into check_minute as m (minute, checks, unknown)
    values (date_trunc('minute', clock_timestamp()), ${checks.length}, ${unknown})
        on conflict (minute) do update
       set checks = m.checks + excluded.checks, unknown = m.unknown + excluded.unknown
  `.execute(tx)
}

/**
 * A 4xx is not trouble: the upstream works and the question is wrong. However many dead ids are watched, the other
 * fares are checked as often, and their losses are believed.
 */
function isTrouble(leg: LegObservation | null): boolean {
  return leg?.kind === 'unknown' && leg.reason !== 'http_4xx'
}
