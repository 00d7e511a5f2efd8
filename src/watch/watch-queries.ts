import { type Db, sql, type Tenant } from '../db/database.ts'
import { entryOf, type FlatEntry, type WatchEntry } from './rows/watch-entry.ts'

/** A watch as its reseller may see it. */
export interface Watch {
  readonly id: string
  readonly trackedFareId: number
  readonly entry: WatchEntry
  readonly createdAt: Date
  /** It sees the changes of its fare from here on. */
  readonly beganAt: Date
  /** Null while it is active. */
  readonly pausedAt: Date | null
}

/** The place of a watch in the order of a reseller's watches. */
export interface WatchPosition {
  readonly list: string
  readonly reference: string
}

export interface WatchPage {
  /** Only the watches of this list. */
  readonly list?: string | undefined
  /** Only the watches of this reference: one, or none, of each list. */
  readonly reference?: string | undefined
  /** The last watch of the page before. */
  readonly after?: WatchPosition | undefined
  readonly limit: number
}

interface WatchRow extends FlatEntry, Omit<Watch, 'entry'> {}

/** A reseller's watches in the order of list and reference, after a position. */
export async function listWatches(db: Db, resellerId: number, page: WatchPage): Promise<Watch[]> {
  const named = page.reference === undefined ? sql`true` : sql`watch.reference = ${page.reference}`
  const { rows } = await sql<WatchRow>`
    select w.id, w.tracked_fare_id as "trackedFareId", w.created_at as "createdAt", w.began_at as "beganAt",
           w.paused_at as "pausedAt", l.name as list, w.reference,
           ${ENTRY_COLUMNS}
      from watch_list l
      -- List by list, so that a page reads its own rows of an index and sorts nothing.
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

/** The watch of a list and a reference; undefined where the reseller has none. */
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

/** The columns of a FlatEntry but its names, of a watch `w` and its tracked fare `f`. */
export const ENTRY_COLUMNS = sql`
           f.flight_id as "flightId", f.return_flight_id as "returnFlightId",
           f.residents_adults as "residentsAdults", f.residents_children as "residentsChildren",
           f.residents_infants as "residentsInfants", f.non_residents_adults as "nonResidentsAdults",
           f.non_residents_children as "nonResidentsChildren", f.non_residents_infants as "nonResidentsInfants",
           w.price_threshold_amount::text as "priceThresholdAmount",
           w.price_threshold_percent::text as "priceThresholdPercent",
           w.departs_on::text as "departsOn", w.min_interval_seconds as "minIntervalSeconds"
`
