/** Records of changes that no check has found, for bench/delivery.ts and bench/streams.ts. */
import { setTimeout as delay } from 'node:timers/promises'
import type { App } from '../src/app/app.ts'
import { appendWatchDrafts, createWatchDrafts } from '../src/feeds/append-records.ts'
import { sql } from '../src/platform/db/database.ts'
import { inTransaction } from '../src/platform/db/transaction.ts'

const PRICE = { amount: '120.40', currency: 'EUR' }
const LEG = { belief: 'available', price: PRICE, identity: 'x', itinerary: 'y', flight: null }
const BELIEF = JSON.stringify({ pair: 'bookable', outbound: LEG, return: null, price: PRICE })

/** Appends records in one transaction, spread over all watches from the n-th on. */
export async function append({ database }: App, from: number, count: number): Promise<void> {
  await inTransaction(database.db, async (tx) => {
    await createWatchDrafts(tx)
    await sql`
      with head as (
        update feed_head set last_seq = last_seq + ${count} where feed = 'availability' returning last_seq - ${count} as first
      ), watched as (
        select id, reseller_id, reference, tracked_fare_id, row_number() over (order by id) - 1 as n, count(*) over () as watches
          from watch
      ), appended as (
        insert into availability_change (seq, kind, tracked_fare_id, before, after, detected_at, provenance)
        select h.first + g.n + 1, 'price_changed', w.tracked_fare_id, ${BELIEF}::jsonb, ${BELIEF}::jsonb, clock_timestamp(), '{}'
          from head h, generate_series(0, ${count - 1}::int) g (n)
          join watched w on w.n = (${from}::int + g.n) % w.watches
        returning id, seq, tracked_fare_id
      )
      insert into watch_change_draft (reseller_id, watch_id, reference, change_id, change_seq)
      select w.reseller_id, w.id, w.reference, a.id, a.seq from appended a join watched w using (tracked_fare_id)
    `.execute(tx)
    await appendWatchDrafts(tx)
  })
}

/** Appends so many records at each interval, ahead of no deadline: late ones are followed by the next at once. */
export async function appendSteadily(
  app: App,
  count: number,
  { everyMs, seconds }: { readonly everyMs: number; readonly seconds: number },
): Promise<void> {
  const startMs = performance.now()
  for (let i = 0; i * everyMs < seconds * 1_000; i += 1) {
    await append(app, i * count, count)
    await delay(Math.max(0, startMs + (i + 1) * everyMs - performance.now()))
  }
}
