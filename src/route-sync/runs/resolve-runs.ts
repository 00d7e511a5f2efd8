import { sql, type Tx } from '../../db/database.ts'
import type { RouteListName } from '../../upstream/route-list.ts'

/** What ended the review of a held run. */
export type Resolution = 'approved' | 'rejected' | 'normal_list' | 'agreed' | 'superseded'

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

/** Notes that a person approved a run, in the transaction that applies it. */
export async function noteApproved(tx: Tx, runId: number): Promise<void> {
  await sql`
    update sync_run set resolution = 'approved', resolved_at = clock_timestamp() where id = ${runId}
  `.execute(tx)
}
