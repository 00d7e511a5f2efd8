import { type RawBuilder, sql, type Tx } from '../db/database.ts'
import { affected } from '../db/transaction.ts'

/** What a watch is told that is no change of its fare: what it learns until its first look, or its own end. */
export interface OwnChangeDraft {
  readonly fareId: number
  readonly kind: string
  readonly before: object
  readonly after: object
  readonly lastGoodCheckAt: string | null
  readonly detectedAt: string
}

/** Writes own changes, which appear in no feed before `appendWatchChanges`. Returns their ids, in the order given. */
export async function insertOwnChanges(
  tx: Tx,
  drafts: readonly OwnChangeDraft[],
): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    insert into own_change (id, kind, tracked_fare_id, before, after, last_good_check_at, detected_at)
    select uuidv7(), d.kind, d.fare_id, d.before, d.after, d.last_good_check_at, d.detected_at
      from unnest(${drafts.map((d) => d.kind)}::text[], ${drafts.map((d) => d.fareId)}::bigint[],
                  ${drafts.map((d) => JSON.stringify(d.before))}::jsonb[],
                  ${drafts.map((d) => JSON.stringify(d.after))}::jsonb[],
                  ${drafts.map((d) => d.lastGoodCheckAt)}::timestamptz[],
                  ${drafts.map((d) => d.detectedAt)}::timestamptz[]) with ordinality
           d (kind, fare_id, before, after, last_good_check_at, detected_at, n)
     order by d.n
    returning id
  `.execute(tx)
  return rows.map(({ id }) => id)
}

/**
 * Appends to the feeds of resellers. Returns how many records.
 *
 * The resellers' heads are locked in the order of their ids, so that two transactions never wait for each other: once
 * in a transaction. The numbers of each reseller are dense and appear in order. Until its end the drafts can be read
 * from `watch_change_draft`.
 * @param drafts a `select` of reseller_id, watch_id, reference, change_id, own_change_id (one of them null), change_seq.
 */
export async function appendWatchChanges(tx: Tx, drafts: RawBuilder<unknown>): Promise<number> {
  await sql`
    create temp table if not exists watch_change_draft
      (reseller_id bigint, watch_id uuid, reference text, change_id uuid, own_change_id uuid, change_seq bigint)
      on commit delete rows
  `.execute(tx)
  await sql`insert into watch_change_draft ${drafts}`.execute(tx)
  await sql`
    select id from reseller
     where id in (select reseller_id from watch_change_draft)
     order by id
       for no key update
  `.execute(tx)
  const count = await affected(
    sql`
      insert into watch_change (reseller_id, seq, watch_id, reference, change_id, own_change_id)
      select d.reseller_id,
             r.last_seq + row_number() over (partition by d.reseller_id order by d.change_seq, d.own_change_id, d.watch_id),
             d.watch_id, d.reference, d.change_id, d.own_change_id
        from watch_change_draft d
        join reseller r on r.id = d.reseller_id
    `,
    tx,
  )
  await sql`
    update reseller r
       set last_seq = r.last_seq + d.count
      from (select reseller_id, count(*) as count from watch_change_draft group by reseller_id) d
     where r.id = d.reseller_id
  `.execute(tx)
  return count
}
