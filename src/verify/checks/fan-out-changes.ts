import { appendWatchChanges } from '../../changes/watch-feed.ts'
import { type RawBuilder, sql, type Tx } from '../../db/database.ts'

export interface FanOut {
  /** Numbers of the changes of one transaction in the feed of all fares. */
  readonly seqs: readonly number[]
  /** Own changes of the same transaction, and the watches that are told them. */
  readonly own: readonly OwnRecord[]
  /** Watches that have not had their first look, and know all that was known of their fares before the changes. */
  readonly inStep?: readonly string[]
}

export interface OwnRecord {
  readonly ownChangeId: string
  readonly watchId: string
}

/**
 * Tells the resellers: one record for every watch of a changed fare that is not paused, has not ended and whose price
 * thresholds pass, and the own changes. Returns how many records.
 *
 * A watch that has not had its first look is told of a change of its fare only where it knows what was known before it:
 * else the record would tell what others had learned.
 *
 * Thresholds are measured against the last price that the watch was told, so that a slow creep is told once it
 * adds up; before it was told any, against the price before the change. Amounts of different currencies are never
 * compared: another currency is told, and so is the first price after a record that had none.
 */
export async function fanOutChanges(tx: Tx, { seqs, own, inStep = [] }: FanOut): Promise<number> {
  if (seqs.length === 0 && own.length === 0) return 0
  const told = await appendWatchChanges(
    tx,
    sql`${changesFor(seqs, inStep)} union all ${ownFor(own)}`,
  )
  await sql`
    update watch w
       set told_amount = t.amount,
           told_currency = t.currency
      from (select watch_id, (array_agg(amount order by seq desc))[1] as amount,
                   (array_agg(currency order by seq desc))[1] as currency
              from (select d.watch_id, d.change_seq as seq,
                           (coalesce(c.after, o.after) #>> '{price,amount}')::numeric as amount,
                           coalesce(c.after, o.after) #>> '{price,currency}' as currency
                      from watch_change_draft d
                      left join availability_change c on c.id = d.change_id
                      left join own_change o on o.id = d.own_change_id) told
             group by watch_id) t
     where w.id = t.watch_id and (w.told_amount, w.told_currency) is distinct from (t.amount, t.currency)
  `.execute(tx)
  return told
}

function changesFor(seqs: readonly number[], inStep: readonly string[]): RawBuilder<unknown> {
  return sql`
    select w.reseller_id, w.id, w.reference, c.id, null::uuid, c.seq
      from availability_change c
      join watch w on w.tracked_fare_id = c.tracked_fare_id
      join reseller r on r.id = w.reseller_id
     cross join lateral ${PRICES} p
     where c.seq = any(${seqs}::bigint[])
       and w.paused_at is null and r.disabled_at is null and w.ended_at is null
       and (w.looked_at is not null or w.id = any(${inStep}::uuid[]))
       and ${PRICE_PASSES}
  `
}

function ownFor(own: readonly OwnRecord[]): RawBuilder<unknown> {
  return sql`
    select w.reseller_id, w.id, w.reference, null::uuid, c.id, null::bigint
      from unnest(${own.map((one) => one.ownChangeId)}::uuid[], ${own.map((one) => one.watchId)}::uuid[])
           o (own_change_id, watch_id)
      join own_change c on c.id = o.own_change_id
      join watch w on w.id = o.watch_id
     cross join lateral ${PRICES} p
     where ${PRICE_PASSES}
  `
}

/** Of a change `c`: the price after it, and the one that watch `w` was told last. */
const PRICES = sql`(
           select (c.after #>> '{price,amount}')::numeric as amount, c.after #>> '{price,currency}' as currency,
                  coalesce(w.told_amount, (c.before #>> '{price,amount}')::numeric) as told_amount,
                  coalesce(w.told_currency, c.before #>> '{price,currency}') as told_currency)`

const PRICE_PASSES = sql`
       (c.kind <> 'price_changed'
            or p.told_amount is null
            or p.currency is distinct from p.told_currency
            or (w.price_threshold_amount is null and w.price_threshold_percent is null and p.amount <> p.told_amount)
            or abs(p.amount - p.told_amount) >= w.price_threshold_amount and p.amount <> p.told_amount
            or abs(p.amount - p.told_amount) * 100 >= w.price_threshold_percent * p.told_amount and p.amount <> p.told_amount)`
