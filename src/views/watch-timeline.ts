import type { Belief, PairState, PriceReason } from '../platform/base/kinds.ts'
import { type Db, sql } from '../platform/db/database.ts'

export interface TimelinePage {
  readonly watchId: string
  /** Only intervals whose `place` is before this instant. */
  readonly before?: Date | undefined
  readonly limit: number
  /** Only intervals in which the fare was bookable. */
  readonly onlyBookable: boolean
}

/** A time since a watch began during which the belief of its fare did not change. */
export interface WatchInterval {
  /** Null for the first interval: it held when the watch began. */
  readonly from: Date | null
  /** Null while it holds. */
  readonly to: Date | null
  readonly pair: PairState
  readonly outbound: Belief
  readonly return: Belief | null
  readonly price: string | null
  readonly currency: string | null
  /** When the last check of the interval began that showed the price. */
  readonly priceCheckedAt: Date | null
  /** Why the last answers of the interval did not show the price of a bookable fare. */
  readonly priceReason: PriceReason | null
  /** The position in the timeline: when the interval began, or for the first one when the watch began. */
  readonly place: Date
}

/**
 * Reads what was believed of a watch's fare since the watch began, newest first. Returns nothing while the watch is
 * paused. The beginning of the first interval is left out, because it may lie before the watch began.
 */
export async function readWatchTimeline(
  db: Db,
  resellerId: number,
  { watchId, before, limit, onlyBookable }: TimelinePage,
): Promise<WatchInterval[]> {
  const { rows } = await sql<WatchInterval>`
    with own as (
      select w.tracked_fare_id, w.began_at, w.ended_at as ends_at
        from watch w
        join reseller r on r.id = w.reseller_id
       where w.id = ${watchId} and w.reseller_id = ${resellerId}
         and w.paused_at is null and r.disabled_at is null
    ), seen as (
      select v.*, o.ends_at, greatest(v.valid_from, o.began_at) as place
        from own o
        join farewatch.fare_history v on v.tracked_fare_id = o.tracked_fare_id
       where (v.valid_to is null or v.valid_to > o.began_at)
         and (o.ends_at is null or v.valid_from < o.ends_at)
    )
    select case when valid_from > (select min(valid_from) from seen) then valid_from end as from,
           least(valid_to, ends_at) as to, state as pair, outbound, return, price, currency,
           price_checked_at as "priceCheckedAt", price_reason as "priceReason", place
      from seen
     where ${before === undefined ? sql`true` : sql`place < ${before}`}
       and ${onlyBookable ? sql`state = 'bookable'` : sql`true`}
     order by place desc
     limit ${limit}
  `.execute(db)
  return rows
}
