import { type RawBuilder, sql, type Tx } from '../db/database.ts'
import { affected } from '../db/transaction.ts'

/**
 * Appends to the feeds of resellers. Returns how many records.
 *
 * The resellers' heads are locked in the order of their ids, so that two transactions never wait for each other;
 * the numbers of each reseller are dense and appear in order.
 * @param drafts a `select` of reseller_id, watch_id, reference, change_id, change_seq.
 */
export async function appendWatchChanges(tx: Tx, drafts: RawBuilder<unknown>): Promise<number> {
  await sql`
    create temp table if not exists watch_change_draft
      (reseller_id bigint, watch_id uuid, reference text, change_id uuid, change_seq bigint) on commit delete rows
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
      insert into watch_change (reseller_id, seq, watch_id, reference, change_id)
      select d.reseller_id,
             r.last_seq + row_number() over (partition by d.reseller_id order by d.change_seq, d.watch_id),
             d.watch_id, d.reference, d.change_id
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
