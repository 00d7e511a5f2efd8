import { sql, type Tx } from '../db/database.ts'
import { one } from '../db/transaction.ts'
import type { RecheckRules } from '../recheck/recheck-rules.ts'
import type { DecisionRules } from './decide.ts'
import { isMassLoss, isUpstreamTrouble } from './incident.ts'
import { decideChecks, type RecordArgs } from './record-checks.ts'

type Rules = DecisionRules & RecheckRules

export interface GuardArgs extends Omit<RecordArgs, 'rules'> {
  readonly rules: Omit<Rules, 'holdLosses'>
}

/**
 * Says by which rules a batch is to be decided: with its losses held while an incident is open, or when the batch
 * itself would open one. Gains and prices go on in either case.
 *
 * An incident ends by the counts that opened it: a mass loss when what is lost or waits to be lost is no longer a
 * mass, upstream trouble when most answers tell something again. Losses that were held are then asked again.
 */
export async function guardLosses(tx: Tx, args: GuardArgs): Promise<Rules> {
  await noteChecks(tx, args)
  const open = await readIncidents(tx)
  const rules = { ...args.rules, holdLosses: false }
  const massLoss = await judgeMassLoss(tx, { ...args, rules }, open.includes('mass_loss'))

  const trouble = isUpstreamTrouble(await readCheckCounts(tx))
  await settleIncident(tx, 'upstream_trouble', {
    open: open.includes('upstream_trouble'),
    is: trouble,
  })
  return { ...rules, holdLosses: massLoss || trouble }
}

async function judgeMassLoss(tx: Tx, args: RecordArgs, open: boolean): Promise<boolean> {
  const losses = countLosses(args)
  // Counting what is bookable costs more than the rest of a batch: it is asked only where it can matter.
  if (losses === 0 && !open) return false
  const counts = await readLossCounts(tx, open)
  const is = isMassLoss({ ...counts, lost: counts.lost + losses })
  await settleIncident(tx, 'mass_loss', { open, is })
  return is
}

/** Fares that this batch would take from bookable. Most batches have none, and are not decided twice for that. */
function countLosses(args: RecordArgs): number {
  if (!args.checks.some(saysUnavailable)) return 0
  return decideChecks(args).filter(({ decision }) =>
    decision.changes.some((change) => change.kind === 'became_unavailable'),
  ).length
}

function saysUnavailable({ observation }: RecordArgs['checks'][number]): boolean {
  return observation.outbound.kind === 'unavailable' || observation.return?.kind === 'unavailable'
}

/** One row a minute, whatever the rate: what upstream trouble is judged by. */
async function noteChecks(tx: Tx, { checks }: GuardArgs): Promise<void> {
  if (checks.length === 0) return
  const unknown = checks.filter(
    ({ observation }) =>
      observation.outbound.kind === 'unknown' || observation.return?.kind === 'unknown',
  ).length
  await sql`
    insert into check_minute as m (minute, checks, unknown)
    values (date_trunc('minute', clock_timestamp()), ${checks.length}, ${unknown})
        on conflict (minute) do update
       set checks = m.checks + excluded.checks, unknown = m.unknown + excluded.unknown
  `.execute(tx)
}

async function readIncidents(tx: Tx): Promise<string[]> {
  const { rows } = await sql<{ kind: string }>`
    select kind from incident where closed_at is null
  `.execute(tx)
  return rows.map((row) => row.kind)
}

/** While losses are held, those that wait to be believed count as lost: they would be, were the incident over. */
async function readLossCounts(tx: Tx, held: boolean): Promise<{ bookable: number; lost: number }> {
  return one(
    sql<{ bookable: number; lost: number }>`
      select s.bookable - w.waiting as bookable, c.lost + w.waiting as lost
        from (select count(*) as bookable from fare_state where pair = 'bookable' and expired_at is null) s,
             (select count(*) as lost from availability_change
               where kind = 'became_unavailable' and recorded_at > clock_timestamp() - interval '5 minutes') c,
             (select count(*) as waiting from fare_state
               where ${held} and pair = 'bookable' and expired_at is null
                 and (state #>> '{outbound,against}' <> '0' or state #>> '{return,against}' <> '0')) w
    `,
    tx,
  )
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

async function settleIncident(
  tx: Tx,
  kind: 'mass_loss' | 'upstream_trouble',
  { open, is }: { open: boolean; is: boolean },
): Promise<void> {
  if (is && !open) {
    await sql`
      insert into incident (kind) values (${kind})
          on conflict (kind) where closed_at is null do nothing
    `.execute(tx)
  }
  if (open && !is) {
    await sql`
      update incident set closed_at = clock_timestamp() where kind = ${kind} and closed_at is null
    `.execute(tx)
    await askHeldAgain(tx)
  }
}

/** Losses that were held wait for nobody's turn: they are looked at again as a first loss would be. */
async function askHeldAgain(tx: Tx): Promise<void> {
  await sql`
    update fare_schedule q
       set lane = 'confirmation', lane_due_at = clock_timestamp()
      from fare_state s
     where s.tracked_fare_id = q.tracked_fare_id and q.claim_id is null
       and (s.state #>> '{outbound,against}' <> '0' or s.state #>> '{return,against}' <> '0')
  `.execute(tx)
}
