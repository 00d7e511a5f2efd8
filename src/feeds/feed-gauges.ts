import { type Db, sql } from '../platform/db/database.ts'
import { readHistoryFloor } from '../platform/db/history-floor.ts'
import type { Metrics } from '../platform/metrics/metrics.ts'

export interface FeedHead {
  readonly feed: string
  readonly lastSeq: number
  /** Seconds since 1970; 0 before the first record. */
  readonly lastRecordAt: number
}

/** Sets the gauges of the feeds, and of the floor of the histories, from the database. */
export async function readFeedGauges(db: Db, metrics: Metrics): Promise<void> {
  for (const { feed, lastSeq, lastRecordAt } of await readFeedHeads(db)) {
    metrics.feedLastSeq.set({ feed }, lastSeq)
    metrics.feedLastRecord.set({ feed }, lastRecordAt)
  }
  metrics.historyFloor.set(((await readHistoryFloor(db))?.getTime() ?? 0) / 1000)
}

/** The feeds of all resellers count as one: how many records a reseller has is secret. */
export async function readFeedHeads(db: Db): Promise<FeedHead[]> {
  const { rows } = await sql<FeedHead>`
    select feed, last_seq as "lastSeq", coalesce(extract(epoch from recorded_at), 0)::float8 as "lastRecordAt"
      from (select 'route' as feed, h.last_seq, c.recorded_at
              from feed_head h
              left join route_change c on c.seq = h.last_seq
             where h.feed = 'route'
            union all
            select 'availability', h.last_seq, c.recorded_at
              from feed_head h
              left join availability_change c on c.seq = h.last_seq
             where h.feed = 'availability'
            union all
            select 'watch', coalesce(sum(r.last_seq), 0)::bigint, max(w.recorded_at)
              from reseller r
              left join watch_change w on w.reseller_id = r.id and w.seq = r.last_seq) f
  `.execute(db)
  return rows
}
