import { sql, type Tx } from '../../db/database.ts'
import type { RecheckRules } from '../../recheck/recheck-rules.ts'
import type { LegObservation } from '../../upstream/observation.ts'
import { decideChecks, type RecordArgs } from '../checks/record-checks.ts'
import type { DecisionRules } from '../decide/decide.ts'
import { endAcceptance, isMassLossAccepted } from './held-losses.ts'
import { isMassLoss, isOver, isThrough, isTroubleOver, isUpstreamTrouble } from './incident.ts'
import { readCheckCounts, readLossCounts, readOpenKinds } from './incident-counts.ts'
import type { IncidentMove } from './incident-events.ts'
import { settleIncident } from './settle-incident.ts'

type Rules = DecisionRules & RecheckRules

export interface GuardArgs extends Omit<RecordArgs, 'rules'> {
  readonly rules: Omit<Rules, 'holdLosses'>
}

export interface Guarded {
  readonly rules: Rules
  /** Incidents that opened or closed: to be told once the transaction is committed. */
  readonly moves: readonly IncidentMove[]
}

/**
 * Says by which rules a batch is to be decided: with its losses held while an incident is open, or when the batch
 * itself would open one. Gains and prices go on in either case.
 *
 * An incident ends by the counts that opened it: a mass loss when what is lost or waits to be lost is no longer a
 * mass, upstream trouble when at least half of the answers tell something again. Losses that were held are then asked
 * again. A mass loss that an operator has closed is true: until it is through none is judged (close-incident.ts).
 * Where no answer comes any more they end by themselves too (settle-incidents-job.ts).
 */
export async function guardLosses(tx: Tx, args: GuardArgs): Promise<Guarded> {
  await noteChecks(tx, args)
  const open = await readOpenKinds(tx)
  const rules = { ...args.rules, holdLosses: false }
  const massLoss = await judgeMassLoss(tx, { ...args, rules }, open.includes('mass_loss'))
  const trouble = await judgeTrouble(tx, open.includes('upstream_trouble'))
  return {
    rules: { ...rules, holdLosses: massLoss.is || trouble.is },
    moves: [...massLoss.moves, ...trouble.moves],
  }
}

interface Judged {
  readonly is: boolean
  readonly moves: readonly IncidentMove[]
}

async function judgeMassLoss(tx: Tx, args: RecordArgs, open: boolean): Promise<Judged> {
  const losing = findLosses(args)
  // Counting costs more than the rest of a batch: it is asked only where it can matter.
  if (losing.length === 0 && !open) return { is: false, moves: [] }
  const counts = await readLossCounts(tx, losing)
  if (!open && (await isMassLossAccepted(tx))) {
    if (isThrough(counts)) await endAcceptance(tx)
    return { is: false, moves: [] }
  }
  const is = open ? !isOver(counts) : isMassLoss(counts)
  return { is, moves: await settleIncident(tx, { kind: 'mass_loss', open, is, counts }) }
}

async function judgeTrouble(tx: Tx, open: boolean): Promise<Judged> {
  const counts = await readCheckCounts(tx, { open })
  const is = open ? !isTroubleOver(counts) : isUpstreamTrouble(counts)
  return { is, moves: await settleIncident(tx, { kind: 'upstream_trouble', open, is, counts }) }
}

/** Fares that this batch would take from bookable. Most batches have none, and are not decided twice for that. */
function findLosses(args: RecordArgs): number[] {
  if (!args.checks.some(saysUnavailable)) return []
  return decideChecks(args)
    .filter(({ decision }) =>
      decision.changes.some((change) => change.kind === 'became_unavailable'),
    )
    .map(({ fareId }) => fareId)
}

function saysUnavailable({ observation }: RecordArgs['checks'][number]): boolean {
  return observation.outbound.kind === 'unavailable' || observation.return?.kind === 'unavailable'
}

/** One row a minute, whatever the rate: what upstream trouble is judged by. */
async function noteChecks(tx: Tx, { checks }: GuardArgs): Promise<void> {
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
 * A 4xx is the answer of somebody who was there to a question that is wrong: however many dead ids are watched, the
 * others are asked as often, and their losses believed.
 */
function isTrouble(leg: LegObservation | null): boolean {
  return leg?.kind === 'unknown' && leg.reason !== 'http_4xx'
}
