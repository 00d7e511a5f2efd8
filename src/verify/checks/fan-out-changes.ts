import { appendWatchChanges } from '../../changes/watch-feed.ts'
import { type RawBuilder, sql, type Tx } from '../../db/database.ts'

/** The changes of one transaction, by their numbers in the feed of all fares. */
export interface SeqRange {
  readonly first: number
  readonly last: number
}

/**
 * Tells the resellers: one record for every watch of a changed fare that is not paused and whose price thresholds
 * pass. Returns how many records.
 *
 * Thresholds are measured against the last price that the watch was told, so that a slow creep is told once it
 * adds up; before it was told any, against the price before the change. Amounts of different currencies are never
 * compared: another currency is told.
 */
export async function fanOutChanges(tx: Tx, { first, last }: SeqRange): Promise<number> {
  const told = await appendWatchChanges(tx, draftsOf({ first, last }))
  await sql`
    update watch w
       set told_amount = t.amount, told_currency = t.currency
      from (select distinct on (d.watch_id) d.watch_id,
                   (c.after #>> '{price,amount}')::numeric as amount, c.after #>> '{price,currency}' as currency
              from watch_change d
              join availability_change c on c.id = d.change_id
             where c.seq between ${first} and ${last} and c.after #>> '{price,amount}' is not null
             order by d.watch_id, c.seq desc) t
     where w.id = t.watch_id
  `.execute(tx)
  return told
}

function draftsOf({ first, last }: SeqRange): RawBuilder<unknown> {
  return sql`
    select w.reseller_id, w.id, w.reference, c.id, c.seq
      from availability_change c
      join watch w on w.tracked_fare_id = c.tracked_fare_id
      join reseller r on r.id = w.reseller_id
     cross join lateral (
           select (c.after #>> '{price,amount}')::numeric as amount, c.after #>> '{price,currency}' as currency,
                  coalesce(w.told_amount, (c.before #>> '{price,amount}')::numeric) as told_amount,
                  coalesce(w.told_currency, c.before #>> '{price,currency}') as told_currency) p
     where c.seq between ${first} and ${last}
       and w.paused_at is null and r.disabled_at is null
       and (c.kind <> 'price_changed'
            or p.told_amount is null
            or p.currency is distinct from p.told_currency
            or (w.price_threshold_amount is null and w.price_threshold_percent is null and p.amount <> p.told_amount)
            or abs(p.amount - p.told_amount) >= w.price_threshold_amount and p.amount <> p.told_amount
            or abs(p.amount - p.told_amount) * 100 >= w.price_threshold_percent * p.told_amount and p.amount <> p.told_amount)
  `
}
