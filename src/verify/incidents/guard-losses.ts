import { type RawBuilder, sql, type Tx } from '../../db/database.ts'
import { one } from '../../db/transaction.ts'
import type { RecheckRules } from '../../recheck/recheck-rules.ts'
import type { LegObservation } from '../../upstream/observation.ts'
import { decideChecks, type RecordArgs } from '../checks/record-checks.ts'
import type { DecisionRules } from '../decide/decide.ts'
import { endAcceptance, isMassLossAccepted } from './held-losses.ts'
import { isMassLoss, isOver, isThrough, isUpstreamTrouble, type LossCounts } from './incident.ts'
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
 * mass, upstream trouble when most answers tell something again. Losses that were held are then asked again. A mass
 * loss that an operator has closed is true: until it is through none is judged (close-incident.ts).
 */
export async function guardLosses(tx: Tx, args: GuardArgs): Promise<Guarded> {
  await noteChecks(tx, args)
  const open = await readIncidents(tx)
  const rules = { ...args.rules, holdLosses: false }
  const massLoss = await judgeMassLoss(tx, { ...args, rules }, open.includes('mass_loss'))

  const counts = await readCheckCounts(tx)
  const trouble = isUpstreamTrouble(counts)
  const isOpen = open.includes('upstream_trouble')
  const troubleMoves = await settleIncident(tx, {
    kind: 'upstream_trouble',
    open: isOpen,
    is: trouble,
    counts,
  })
  return {
    rules: { ...rules, holdLosses: massLoss.is || trouble },
    moves: [...massLoss.moves, ...troubleMoves],
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

async function readIncidents(tx: Tx): Promise<string[]> {
  const { rows } = await sql<{ kind: string }>`
    select kind from incident where closed_at is null
  `.execute(tx)
  return rows.map((row) => row.kind)
}

/**
 * What was asked within five minutes, and `waiting`: what waits to be lost, whenever it was asked. Losses that wait
 * count as lost: by the time that each has its second answer, many would be recorded. A fare that nobody watches any more
 * has no turn, and counts for nothing: it would wait for ever.
 */
async function readLossCounts(
  tx: Tx,
  losing: readonly number[],
): Promise<LossCounts & { waiting: number }> {
  return one(
    sql<LossCounts & { waiting: number }>`
      select count(*) filter (where f.asked and not f.gone) as bookable,
             count(*) filter (where f.asked and f.gone)
               + (select count(*) from availability_change
                   where kind = 'became_unavailable' and recorded_at > clock_timestamp() - interval '5 minutes') as lost,
             count(*) filter (where f.gone) as waiting
        from (select last_good_check_at > clock_timestamp() - interval '5 minutes' or ${isLosing(losing)} as asked,
                     state #>> '{outbound,against}' <> '0'
                       or coalesce(state #>> '{return,against}', '0') <> '0' or ${isLosing(losing)} as gone
                from fare_state
                join fare_schedule using (tracked_fare_id)
               where pair = 'bookable') f
    `,
    tx,
  )
}

function isLosing(losing: readonly number[]): RawBuilder<boolean> {
  return sql`tracked_fare_id = any(${losing}::bigint[])`
}

async function readCheckCounts(tx: Tx): Promise<{ checks: number; unknown: number }> {
  return one(
    sql<{ checks: number; unknown: number }>`
      select coalesce(sum(checks), 0)::bigint as checks, coalesce(sum(unknown), 0)::bigint as unknown
        from check_minute
       where minute > clock_timestamp() - interval '2 minutes'
    `,
    tx,
  )
}
