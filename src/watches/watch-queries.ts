import { type Db, sql, type Tenant } from '../platform/db/database.ts'
import { entryOf, type FlatEntry, type WatchEntry } from './rows/watch-entry.ts'

/** A watch as its reseller sees it. */
export interface Watch {
  readonly id: string
  readonly trackedFareId: number
  readonly entry: WatchEntry
  readonly createdAt: Date
  /** When it last began: when it was added or resumed, or when its question changed. */
  readonly beganAt: Date
  /** Null while it is not paused. */
  readonly pausedAt: Date | null
}

/** The position of a watch in the order of a reseller's watches. */
export interface WatchPosition {
  readonly list: string
  readonly reference: string
}

export interface WatchPage {
  /** Only watches of this list. */
  readonly list?: string | undefined
  /** Only watches with this reference: at most one in each list. */
  readonly reference?: string | undefined
  /** The last watch on the previous page. */
  readonly after?: WatchPosition | undefined
  readonly limit: number
}

interface WatchRow extends FlatEntry, Omit<Watch, 'entry'> {}

/** Lists a reseller's watches by list and reference. */
export async function listWatches(db: Db, resellerId: number, page: WatchPage): Promise<Watch[]> {
  const named = page.reference === undefined ? sql`true` : sql`watch.reference = ${page.reference}`
  const { rows } = await sql<WatchRow>`
    select w.id, w.tracked_fare_id as "trackedFareId", w.created_at as "createdAt", w.began_at as "beganAt",
           w.paused_at as "pausedAt", l.name as list, w.reference,
           ${ENTRY_COLUMNS}
      from watch_list l
      -- One index range for each list: a page reads its own rows only and sorts nothing.
     cross join lateral (
           select *
             from watch
            where watch.watch_list_id = l.id and watch.reseller_id = l.reseller_id and ${named}
              and watch.reference > case when l.name = ${page.after?.list ?? ''} then ${page.after?.reference ?? ''} else '' end
            order by watch.reference
            limit ${page.limit}) w
      join tracked_fare f on f.id = w.tracked_fare_id
     where l.reseller_id = ${resellerId}
       and l.name >= ${page.after?.list ?? ''}
       and (${page.list === undefined} or l.name = ${page.list ?? ''})
     order by l.name, w.reference
     limit ${page.limit}
  `.execute(db)
  return rows.map(watchOf)
}

/** Finds a reseller's watch by its list and reference. */
export async function findWatch(
  { db, resellerId }: Tenant,
  { list, reference }: WatchPosition,
): Promise<Watch | undefined> {
  const [found] = await listWatches(db, resellerId, { list, reference, limit: 1 })
  return found
}

function watchOf(row: WatchRow): Watch {
  const { id, trackedFareId, createdAt, beganAt, pausedAt } = row
  return { id, trackedFareId, entry: entryOf(row), createdAt, beganAt, pausedAt }
}

/** The columns of a FlatEntry except its names, from a watch `w` and its tracked fare `f`. */
export const ENTRY_COLUMNS = sql`
           f.flight_id as "flightId", f.return_flight_id as "returnFlightId",
           f.residents_adults as "residentsAdults", f.residents_children as "residentsChildren",
           f.residents_infants as "residentsInfants", f.non_residents_adults as "nonResidentsAdults",
           f.non_residents_children as "nonResidentsChildren", f.non_residents_infants as "nonResidentsInfants",
           w.price_threshold_amount::text as "priceThresholdAmount",
           w.price_threshold_percent::text as "priceThresholdPercent",
           w.departs_on::text as "departsOn", w.min_interval_seconds as "minIntervalSeconds",
           w.priority, w.max_delay_seconds as "maxDelaySeconds"
`
