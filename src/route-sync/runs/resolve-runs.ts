import { type Db, sql, type Tx } from '../../db/database.ts'
import type { RouteListName } from '../../upstream/route-list.ts'

/** What ended the review of a held run. */
export type Resolution = 'approved' | 'rejected' | 'normal_list' | 'agreed' | 'superseded'

/**
 * Runs `r` whose review a list that agrees with them joins: what is held, or was dropped without being believed. Once
 * a list of the review was applied, by a person or by agreement, the review is over.
 */
export const JOINABLE = sql`(
  (r.status = 'held' or r.status = 'dropped' and r.resolution in ('rejected', 'normal_list'))
  and not exists (select from sync_run d where d.review_id = r.review_id and d.status in ('approved', 'applied'))
)`

export interface DropArgs {
  readonly list: RouteListName
  readonly resolution: Exclude<Resolution, 'approved'>
  /** The run whose list decided it; null where a person did. */
  readonly resolvedBy: number | null
  /** The one review that ends; all of the list where missing. */
  readonly reviewId?: number
}

/** Drops the held runs of a list, which keep the reason they were held for. Returns which. */
export async function dropHeldRuns(tx: Tx, args: DropArgs): Promise<number[]> {
  const { rows } = await sql<{ id: number }>`
    update sync_run
       set status = 'dropped', resolution = ${args.resolution}, resolved_at = clock_timestamp(),
           resolved_by = ${args.resolvedBy}
     where list = ${args.list} and status = 'held'
       and (${args.reviewId ?? null}::bigint is null or review_id = ${args.reviewId ?? null})
    returning id
  `.execute(tx)
  return rows.map(({ id }) => id).sort((a, b) => a - b)
}

/** What a person has rejected of a review, and when, the last time. */
export interface Rejection {
  readonly runs: readonly number[]
  readonly at: Date
}

export async function findRejection(db: Db, reviewId: number): Promise<Rejection | null> {
  const { rows } = await sql<Rejection>`
    select json_agg(id order by id) as runs, max(resolved_at) as at
      from sync_run
     where review_id = ${reviewId} and resolution = 'rejected'
    having count(*) > 0
  `.execute(db)
  return rows[0] ?? null
}

/** Notes that a person approved a run, in the transaction that applies it. */
export async function recordApproval(tx: Tx, runId: number): Promise<void> {
  await sql`
    update sync_run set resolution = 'approved', resolved_at = clock_timestamp() where id = ${runId}
  `.execute(tx)
}
