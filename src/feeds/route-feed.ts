import { type RawBuilder, sql, type Tx } from '../platform/db/database.ts'
import { notify } from '../platform/db/listener.ts'

/**
 * Drafts the records of changes while the tables still hold the state before them. `drafts` selects kind, departure_id,
 * destination_id, place_id, before, after, last_seen_at, first_missed_at, in this order.
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
 * Appends the drafts to the feed. Call it last: it locks the head of the feed until the commit, which makes the numbers
 * dense and lets them appear in order.
 */
export async function appendDraftedRouteChanges(tx: Tx, runId: number): Promise<void> {
  const { rows } = await sql<{ before: number }>`
    update feed_head
       set last_seq = last_seq + drafted.count
      from (select count(*) as count from route_change_draft) drafted
     where feed = 'route' and drafted.count > 0
    returning last_seq - drafted.count as before, ${notify('route')}
  `.execute(tx)
  const [head] = rows
  if (head === undefined) return
  await sql`
    insert into route_change
           (seq, kind, departure_id, destination_id, place_id, before, after,
            last_seen_at, first_missed_at, sync_run_id)
    select ${head.before} + row_number() over (order by kind, departure_id, destination_id, place_id),
           kind, departure_id, destination_id, place_id, before, after,
           last_seen_at, first_missed_at, ${runId}
      from route_change_draft
  `.execute(tx)
}
