import { type Db, sql } from '../../db/database.ts'
import type { WatchFacts } from './watch-view.ts'

/** What is believed of the fares of a reseller's watches, by the watches' ids. */
export async function readWatchFacts(
  db: Db,
  resellerId: number,
  watchIds: readonly string[],
): Promise<ReadonlyMap<string, WatchFacts>> {
  const { rows } = await sql<WatchFacts>`
    select w.id as "watchId", s.state, s.asked_at as "askedAt", s.last_good_check_at as "lastGoodCheckAt",
           s.last_reason as "lastReason", coalesce(s.expired_at, w.ended_at) as "endedAt",
           w.started_at is not null as "hasStarted", q.lane, r.disabled_at is not null as "resellerDisabled",
           extract(epoch from c.expected_interval)::float8 as "expectedIntervalSeconds", clock_timestamp() as now
      from watch w
      join reseller r on r.id = w.reseller_id
     cross join recheck_clock c
      left join fare_state s on s.tracked_fare_id = w.tracked_fare_id
      left join fare_schedule q on q.tracked_fare_id = w.tracked_fare_id
     where w.reseller_id = ${resellerId} and w.id = any(${watchIds}::uuid[])
  `.execute(db)
  return new Map(rows.map((row) => [row.watchId, row]))
}

export interface TimelinePage {
  readonly watchId: string
  /** Only intervals whose place is before this instant. */
  readonly before?: Date | undefined
  readonly limit: number
  /** Only the times at which the fare could be bought. */
  readonly onlyBookable: boolean
}

/** An interval of belief since a watch began. */
export interface SeenInterval {
  /** Null of the first one: it held when the watch began. */
  readonly from: Date | null
  /** Null while it holds. */
  readonly to: Date | null
  readonly pair: 'bookable' | 'not_bookable' | 'unknown'
  readonly outbound: 'available' | 'unavailable' | 'unknown'
  readonly return: 'available' | 'unavailable' | 'unknown' | null
  readonly price: string | null
  readonly currency: string | null
  /** Its place among the intervals: when it began, or of the first one when the watch did. */
  readonly place: Date
}

/**
 * What was believed of a watch's fare since the watch began, the newest interval first; nothing while it is paused. The
 * first interval is shown without its beginning, which may lie before the watch.
 */
export async function readWatchTimeline(
  db: Db,
  resellerId: number,
  { watchId, before, limit, onlyBookable }: TimelinePage,
): Promise<SeenInterval[]> {
  const { rows } = await sql<SeenInterval>`
    with own as (
      select w.tracked_fare_id, w.began_at, w.ended_at as ends_at
        from watch w
        join reseller r on r.id = w.reseller_id
       where w.id = ${watchId} and w.reseller_id = ${resellerId}
         and w.paused_at is null and r.disabled_at is null
    ), seen as (
      select v.*, o.ends_at, greatest(v.valid_from, o.began_at) as place
        from own o
        join fare_belief_version v on v.tracked_fare_id = o.tracked_fare_id
       where (v.valid_to is null or v.valid_to > o.began_at)
         and (o.ends_at is null or v.valid_from < o.ends_at)
    )
    select case when valid_from > (select min(valid_from) from seen) then valid_from end as from,
           least(valid_to, ends_at) as to, pair, outbound, return, price::text, currency, place
      from seen
     where ${before === undefined ? sql`true` : sql`place < ${before}`}
       and ${onlyBookable ? sql`pair = 'bookable'` : sql`true`}
     order by place desc
     limit ${limit}
  `.execute(db)
  return rows
}
