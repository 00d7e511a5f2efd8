import type { RouteChangeKind } from '../base/kinds.ts'
import { type RawBuilder, sql, type Tx } from '../db/database.ts'
import { selectOne } from '../db/transaction.ts'

/**
 * Notes what is about to change, while the state still shows what held before.
 *
 * @param drafts a `select` of kind, departure_id, destination_id, place_id, before, after, last_seen_at,
 * first_missed_at, in this order.
 */
export async function draftRouteChanges(tx: Tx, drafts: RawBuilder<unknown>): Promise<void> {
  await sql`
    create temp table route_change_draft (
      kind text, departure_id text, destination_id text, place_id text,
      before jsonb, after jsonb, last_seen_at timestamptz, first_missed_at timestamptz
    ) on commit drop
  `.execute(tx)
  await sql`insert into route_change_draft ${drafts}`.execute(tx)
}

/**
 * Appends the drafts to the feed. Call it last: from here to the commit the feed's head is locked, which is what
 * makes its numbers dense and lets them appear in order.
 */
export async function appendDraftedRouteChanges(
  tx: Tx,
  runId: number,
): Promise<Map<RouteChangeKind, number>> {
  const counts = await sql<{ kind: RouteChangeKind; count: number }>`
    select kind, count(*) as count from route_change_draft group by kind
  `.execute(tx)
  const total = counts.rows.reduce((sum, row) => sum + row.count, 0)
  if (total === 0) return new Map()

  const { before } = await selectOne(
    sql<{ before: number }>`
      update feed_head set last_seq = last_seq + ${total} where feed = 'route'
      returning last_seq - ${total} as before
    `,
    tx,
  )
  await sql`
    insert into route_change
           (seq, kind, departure_id, destination_id, place_id, before, after,
            last_seen_at, first_missed_at, sync_run_id)
    select ${before} + row_number() over (order by kind, departure_id, destination_id, place_id),
           kind, departure_id, destination_id, place_id, before, after,
           last_seen_at, first_missed_at, ${runId}
      from route_change_draft
  `.execute(tx)
  return new Map(counts.rows.map((row) => [row.kind, row.count]))
}
