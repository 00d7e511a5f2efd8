import type { RouteListName } from '../../platform/base/kinds.ts'
import { type Db, sql } from '../../platform/db/database.ts'
import { RunNotFoundError } from '../runs/sync-errors.ts'
import type { SyncOutcome } from '../runs/sync-run.ts'
import { approveRuns, type DecideDeps } from './decide-run.ts'

/** The other held list of one pull. */
export interface PairedRun {
  readonly runId: number
  readonly list: RouteListName
}

/**
 * The held run of the other list that belongs to the same pull: it arrived within an hour, no other run of its list arrived nearer
 * to this one, and no other run of this list arrived nearer to it. Null if there is none, if its list is empty, or if an operator
 * has rejected its review: such a list is approved by its own number only.
 */
export async function findPaired(db: Db, runId: number): Promise<PairedRun | null> {
  const { rows } = await sql<PairedRun>`
    with arrived as (
           select id, list, status, reason_code, review_id, coalesce(arrived_at, fetched_at) as at
             from sync_run
            where coalesce(arrived_at, fetched_at) is not null),
         pair as (
           select r.id as run_id, o.id as other_id, o.list, abs(extract(epoch from o.at - r.at)) as apart
             from arrived r
             join arrived o on o.list <> r.list and abs(extract(epoch from o.at - r.at)) <= 3600)
    select p.other_id as "runId", p.list
      from pair p
      join arrived o on o.id = p.other_id
     where p.run_id = ${runId} and o.status = 'held' and o.reason_code <> 'empty'
       and not exists (select from sync_run j where j.review_id = o.review_id and j.resolution = 'rejected')
       and not exists (select from pair n where n.run_id = p.run_id and (n.apart, n.other_id) < (p.apart, p.other_id))
       and not exists (select from pair n where n.run_id = p.other_id and (n.apart, n.other_id) < (p.apart, p.run_id))
  `.execute(db)
  return rows[0] ?? null
}

/**
 * Approves a held run and the held run of the other list of its pull, in one transaction: if one of them cannot be applied, both
 * stay held. Throws the errors of `approveRuns`.
 */
export async function approvePull(
  deps: DecideDeps,
  runId: number,
  signal: AbortSignal,
): Promise<{ readonly outcome: SyncOutcome; readonly paired: SyncOutcome | null }> {
  const other = await findPaired(deps.db, runId)
  const outcomes = await approveRuns(deps, other === null ? [runId] : [runId, other.runId], signal)
  const outcome = outcomes.find((approved) => approved.runId === runId)
  if (outcome === undefined) throw new RunNotFoundError(runId)
  return { outcome, paired: outcomes.find((approved) => approved !== outcome) ?? null }
}
