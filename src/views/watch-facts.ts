import type { StateRow } from '../fares/state.ts'
import type {
  CheckReason,
  HiddenReason,
  PriceReason,
  ShownPriceReason,
} from '../platform/base/kinds.ts'
import { type Db, sql } from '../platform/db/database.ts'
import { OWN_SECONDS, QUEUES } from '../schedule/queues.ts'
import type { FlightSummary } from '../upstream/observation.ts'

/** The columns that the view of a watch is computed from. */
export interface WatchFacts extends StateRow {
  readonly watchId: string
  /** Whether the price of the belief is shown, why not or why the last answers lacked it, and when one showed it. */
  readonly isPriceShown: boolean
  readonly shownPriceReason: ShownPriceReason | null
  readonly shownPriceAt: Date | null
  readonly hiddenReason: HiddenReason | null
  /** When the first answer began that contradicts the belief; null where none does. */
  readonly contradictedSince: Date | null
  readonly heldSince: Date | null
  /** When the request of the last counted answer began. */
  readonly askedAt: Date | null
  readonly lastReason: string | null
  /** Why the fare was checked last; null if that is not known. */
  readonly lastCheckWhy: CheckReason | null
  /** When the fare or the watch ended; null if neither has. */
  readonly endedAt: Date | null
  /** When the first of its known flights departs; null if no answer showed one. */
  readonly departsAt: Date | null
  /** When its record `watch_started` was written; null before. Until then an early check is due. */
  readonly startedAt: Date | null
  /** The last price since the watch began at which the fare was bookable, and when the last check showed it. */
  readonly lastAmount: string | null
  readonly lastCurrency: string | null
  readonly lastBookableAt: Date | null
  /** Its flights when it was paused; null while it is not, and where no record showed them. */
  readonly outboundAtPause: FlightSummary | null
  readonly returnAtPause: FlightSummary | null
  readonly lane: string | null
  /** When the check in its lane is due; null without a lane. */
  readonly laneDueAt: Date | null
  readonly resellerDisabled: boolean
  /** How long a belief is fresh after its last good check, by what the reseller spends on the fare. */
  readonly freshSeconds: number
  readonly now: Date
}

/** Reads what the views of a reseller's watches are made of, by the watches' ids. */
export async function readWatchFacts(
  db: Db,
  resellerId: number,
  watchIds: readonly string[],
): Promise<ReadonlyMap<string, WatchFacts>> {
  const rows = await db
    .selectFrom('watch as w')
    .innerJoin('reseller as r', 'r.id', 'w.reseller_id')
    .leftJoin('tracked_fare as f', 'f.id', 'w.tracked_fare_id')
    .leftJoin('fare_state as s', 's.tracked_fare_id', 'w.tracked_fare_id')
    .leftJoin('fare_schedule as q', 'q.tracked_fare_id', 'w.tracked_fare_id')
    .leftJoin(queueOf(resellerId), (join) => join.onTrue())
    .leftJoinLateral(freshFor, (join) => join.onTrue())
    .leftJoinLateral(shownPrice, (join) => join.onTrue())
    .leftJoinLateral(lastBookable, (join) => join.onTrue())
    .leftJoinLateral(flightsAtPause, (join) => join.onTrue())
    .select(['w.id as watchId', 's.asked_at as askedAt', 's.last_good_check_at as lastGoodCheckAt'])
    .select(['s.last_reason as lastReason', 's.last_check_why as lastCheckWhy', 'q.lane'])
    .select('q.lane_due_at as laneDueAt')
    .select(['w.started_at as startedAt', 's.departs_at as departsAt'])
    .select(['s.price_checked_at as priceCheckedAt', 's.ever_available_at as everAvailableAt'])
    .select(['price.reason as shownPriceReason', 'price.checked_at as shownPriceAt'])
    .select('s.hidden as hiddenReason')
    .select(['s.contradicted_since as contradictedSince', 's.held_since as heldSince'])
    .select(['last.amount as lastAmount', 'last.currency as lastCurrency'])
    .select(['last.at as lastBookableAt', 'atPause.outbound as outboundAtPause'])
    .select('atPause.return as returnAtPause')
    .select(({ fn }) => [
      sql<object | null>`s.state`.as('state'),
      sql<boolean>`f.return_flight_id is not null`.as('hasReturn'),
      sql<PriceReason | null>`nullif(s.price_reason, 'held')`.as('priceReason'),
      fn.coalesce('s.expired_at', 'w.ended_at').as('endedAt'),
      sql<boolean>`r.disabled_at is not null`.as('resellerDisabled'),
      sql<boolean>`coalesce(price.is_shown, false)`.as('isPriceShown'),
      sql<number>`extract(epoch from fresh.lasts)::float8`.as('freshSeconds'),
      sql<Date>`clock_timestamp()`.as('now'),
    ])
    .where('w.reseller_id', '=', resellerId)
    .where(sql<boolean>`w.id = any(${watchIds}::uuid[])`)
    .execute()
  return new Map(rows.map((row) => [row.watchId, row]))
}

/** Read once, not for each watch. */
function queueOf(resellerId: number) {
  return sql<{
    reseller_id: number
  }>`(select * from (${QUEUES}) q where q.reseller_id = ${resellerId})`.as('p')
}

/** How long a belief is fresh, by what the reseller spends on the fare. */
const freshFor = sql<{ lasts: unknown }>`(
  select fresh_for(coalesce(
           (select 1 / ${OWN_SECONDS} from turn t where t.tracked_fare_id = f.id and t.reseller_id = p.reseller_id), q.rate)) as lasts
)`.as<'fresh'>(sql.ref('fresh'))

const shownPrice = sql<{
  checked_at: Date | null
  reason: ShownPriceReason | null
  is_shown: boolean
}>`shown_price(s, fresh.lasts)`.as<'price'>(sql.ref('price'))

/** Since when watch `w` of reseller `r` shows nothing new; null while it does. */
const PAUSED_AT = sql`least(w.paused_at, r.disabled_at)`

/**
 * The last time since watch `w` began that its fare, with state `s`, was bookable. Read only where the view may need it:
 * of a bookable fare the belief shows the price. Its row is found by the index alone, without a sort: 15 ms for a
 * thousand sold-out watches. Of a paused watch it must not depend on later checks, which are made for other watches.
 */
const lastBookable = sql<{ amount: string | null; currency: string | null; at: Date }>`(
  select b.price::text as amount, b.currency,
         case when ${PAUSED_AT} is null
              then least(coalesce(b.price_checked_at, case when b.valid_to is null then s.price_checked_at end, b.valid_from), w.ended_at)
              else greatest(b.valid_from, w.began_at) end as at
    from fare_belief_version b
   where b.tracked_fare_id = w.tracked_fare_id
     and b.valid_from = (
           select v.valid_from
             from fare_belief_version v
            where v.tracked_fare_id = w.tracked_fare_id and v.pair = 'bookable'
              and (s.pair <> 'bookable' or s.expired_at is not null or w.ended_at is not null or ${PAUSED_AT} is not null)
              and (v.valid_to is null or v.valid_to > w.began_at)
              and coalesce(v.valid_from < least(w.ended_at, ${PAUSED_AT}), true)
            order by v.valid_from desc
            limit 1)
)`.as<'last'>(sql.ref('last'))

/** The flights of a paused watch as the last record of its fare showed them that was written before the pause. */
const flightsAtPause = sql<Record<'outbound' | 'return', FlightSummary | null>>`(
  select ${flightAtPause('outbound')} as outbound, ${flightAtPause('return')} as return
   where ${PAUSED_AT} is not null
)`.as<'atPause'>(sql.ref('atPause'))

/** A record shows a flight after the change, or before it if the flight was lost. */
function flightAtPause(leg: 'outbound' | 'return') {
  const inView = (view: 'after' | 'before') =>
    sql`nullif(c.${sql.ref(view)} #> ${sql.lit(`{${leg},flight}`)}, 'null')`
  return sql`(
    select coalesce(${inView('after')}, ${inView('before')})
      from availability_change c
     where c.tracked_fare_id = w.tracked_fare_id and c.recorded_at <= ${PAUSED_AT}
       and coalesce(${inView('after')}, ${inView('before')}) is not null
     order by c.seq desc
     limit 1)`
}
