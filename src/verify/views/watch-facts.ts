import { type Db, sql } from '../../db/database.ts'
import type { WatchFacts } from './watch-view.ts'

/** When the watch ended by itself, or its own departure date has passed everywhere on earth; null where neither has. */
const OWN_END = sql`
  coalesce(case when w.departs_on + interval '36 hours' < clock_timestamp() at time zone 'UTC'
                then (w.departs_on + interval '36 hours') at time zone 'UTC' end, w.ended_at)
`

/** What watches of a reseller may be told of their fares, by their ids. */
export async function readWatchFacts(
  db: Db,
  resellerId: number,
  watchIds: readonly string[],
): Promise<ReadonlyMap<string, WatchFacts>> {
  const { rows } = await sql<WatchFacts>`
    select w.id as "watchId", s.state, s.asked_at as "askedAt", s.last_good_check_at as "lastGoodCheckAt",
           s.last_reason as "lastReason", coalesce(s.expired_at, ${OWN_END}) as "endedAt",
           exists (select from fare_belief_version v
                    where v.tracked_fare_id = w.tracked_fare_id
                      and v.valid_from < w.began_at and (v.valid_to is null or v.valid_to > w.began_at)) as "knownBefore",
           q.lane, r.disabled_at is not null as "resellerDisabled",
           extract(epoch from c.turn)::float8 as "turnSeconds", clock_timestamp() as now
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
  /** Intervals that began before this instant. */
  readonly before?: Date | undefined
  readonly limit: number
  /** Only the times at which the fare could be bought. */
  readonly onlyBookable: boolean
}

/** An interval of belief, as a watch saw it. */
export interface SeenInterval {
  /** Null of the first one: it was so when the watch first looked. */
  readonly from: Date | null
  /** Null while it holds. */
  readonly to: Date | null
  readonly pair: 'bookable' | 'not_bookable' | 'unknown'
  readonly outbound: 'available' | 'unavailable' | 'unknown'
  readonly return: 'available' | 'unavailable' | 'unknown' | null
  readonly price: string | null
  readonly currency: string | null
  /** Its place among the intervals; where it is the first one, not for telling. */
  readonly beganAt: Date
}

/**
 * What was believed of a watch's fare since the watch began, the newest interval first; nothing while it is paused.
 *
 * An interval that began before the watch did is shown where a good check since has borne it out, without its
 * beginning; where something else was found first, the watch never saw it. By the first change that was recorded since
 * the watch began, the check before it is known.
 */
export async function readWatchTimeline(
  db: Db,
  resellerId: number,
  { watchId, before, limit, onlyBookable }: TimelinePage,
): Promise<SeenInterval[]> {
  const { rows } = await sql<SeenInterval>`
    with own as (
      select w.tracked_fare_id, w.began_at, ${OWN_END} as ends_at
        from watch w
        join reseller r on r.id = w.reseller_id
       where w.id = ${watchId} and w.reseller_id = ${resellerId}
         and w.paused_at is null and r.disabled_at is null
    ), held as (
      select o.*, (select case when v.valid_to is null then s.last_good_check_at else first.last_good_check_at end
                     from fare_belief_version v
                     left join fare_state s on s.tracked_fare_id = v.tracked_fare_id
                     left join lateral (select c.last_good_check_at
                                          from availability_change c
                                         where c.tracked_fare_id = v.tracked_fare_id and c.recorded_at >= o.began_at
                                         order by c.seq
                                         limit 1) first on true
                    where v.tracked_fare_id = o.tracked_fare_id
                      and v.valid_from < o.began_at and (v.valid_to is null or v.valid_to > o.began_at)) as borne_out_at
        from own o
    ), seen as (
      select v.*, o.ends_at
        from held o
        join fare_belief_version v on v.tracked_fare_id = o.tracked_fare_id
       where (v.valid_from >= o.began_at
              or (o.borne_out_at >= o.began_at and (v.valid_to is null or v.valid_to > o.began_at)))
         and (o.ends_at is null or v.valid_from < o.ends_at)
    )
    select case when valid_from > (select min(valid_from) from seen) then valid_from end as from,
           least(valid_to, ends_at) as to, pair, outbound, return, price::text, currency, valid_from as "beganAt"
      from seen
     where ${before === undefined ? sql`true` : sql`valid_from < ${before}`}
       and ${onlyBookable ? sql`pair = 'bookable'` : sql`true`}
     order by valid_from desc
     limit ${limit}
  `.execute(db)
  return rows
}
