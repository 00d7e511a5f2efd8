import type { EndReason } from '../platform/base/kinds.ts'
import { sql, type Tx } from '../platform/db/database.ts'
import { notify } from '../platform/db/listener.ts'
import { affected } from '../platform/db/transaction.ts'

/** The end of watches whose fare is still checked for others. Watches of one fare that end in one transaction share it. */
export interface WatchEndDraft {
  readonly fareId: number
  readonly reason: EndReason | null
  readonly before: object
  readonly after: object
  readonly lastGoodCheckAt: string | null
  readonly detectedAt: string
}

/** Writes `expired` events, which are in no feed before they are drafted. Returns their ids, in the order given. */
export async function insertWatchEnds(tx: Tx, drafts: readonly WatchEndDraft[]): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    insert into watch_event (kind, reason, tracked_fare_id, before, after, last_good_check_at, detected_at)
    select 'expired', d.reason, d.fare_id, d.before, d.after, d.last_good_check_at, d.detected_at
      from unnest(${drafts.map((d) => d.fareId)}::bigint[],
                  ${drafts.map((d) => d.reason)}::text[],
                  ${drafts.map((d) => JSON.stringify(d.before))}::jsonb[],
                  ${drafts.map((d) => JSON.stringify(d.after))}::jsonb[],
                  ${drafts.map((d) => d.lastGoodCheckAt)}::timestamptz[],
                  ${drafts.map((d) => d.detectedAt)}::timestamptz[]) with ordinality
           d (fare_id, reason, before, after, last_good_check_at, detected_at, n)
     order by d.n
    returning id
  `.execute(tx)
  return rows.map(({ id }) => id)
}

/**
 * Creates the temporary table `watch_change_draft`, empty, in which a transaction collects records for the feeds of
 * resellers: reseller_id, watch_id, reference, and either change_id with change_seq or watch_event_id. `fare_id` is for the
 * caller's own use.
 */
export async function createWatchDrafts(tx: Tx): Promise<void> {
  await sql`
    create temp table if not exists watch_change_draft
      (reseller_id bigint, watch_id uuid, reference text, fare_id bigint, change_id uuid, change_seq bigint,
       watch_event_id uuid)
      on commit delete rows
  `.execute(tx)
  // The table has rows if the transaction has appended drafts before.
  await sql`delete from watch_change_draft`.execute(tx)
}

/**
 * Appends the drafts to the feeds of their resellers. Returns how many records. The drafts stay readable until the
 * transaction ends.
 *
 * Call it late: from here to the commit the resellers' rows are locked, which makes the
 * numbers of each feed dense and lets them appear in order. The rows are locked in the order of their ids, so that
 * two transactions never wait for each other.
 */
export async function appendWatchDrafts(tx: Tx): Promise<number> {
  await sql`
    select id from reseller
     where id in (select reseller_id from watch_change_draft)
     order by id
       for no key update
  `.execute(tx)
  const count = await affected(
    sql`
      insert into watch_change (reseller_id, seq, watch_id, reference, list, change_id, watch_event_id)
      select d.reseller_id,
             r.last_seq + row_number() over (partition by d.reseller_id order by d.change_seq, d.watch_event_id, d.watch_id),
             d.watch_id, d.reference, l.name, d.change_id, d.watch_event_id
        from watch_change_draft d
        join reseller r on r.id = d.reseller_id
        left join watch w on w.id = d.watch_id
        left join watch_list l on l.id = w.watch_list_id
    `,
    tx,
  )
  await sql`
    update reseller r
       set last_seq = r.last_seq + d.count
      from (select reseller_id, count(*) as count from watch_change_draft group by reseller_id) d
     where r.id = d.reseller_id
    returning ${notify('watch', sql`r.id`)}
  `.execute(tx)
  return count
}
