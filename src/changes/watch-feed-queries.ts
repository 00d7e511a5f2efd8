import type { WatchChangeKind } from '../base/kinds.ts'
import { type Db, type RawBuilder, sql } from '../db/database.ts'
import type { AvailabilityChange } from './availability-feed.ts'

/** A record of one reseller's feed: what changed for one of its watches. It shows nothing of other watches. */
export interface WatchChange extends Omit<AvailabilityChange, 'fareId' | 'id' | 'kind'> {
  readonly kind: WatchChangeKind
  /** Rises when records may have a shape or a kind that was not there before. */
  readonly schemaVersion: number
  readonly watchId: string
  /** As it was when the record was written. */
  readonly reference: string
  /** The watch's list, by its present name; null once the watch is deleted. */
  readonly list: string | null
  /** Of `watch_started` alone: when the last good check of the belief in `after` began. */
  readonly observedAt?: Date
}

type WatchChangeRow = Omit<WatchChange, 'observedAt'> & { readonly observedAt: Date | null }

/** Which records of a feed pass; all that is missing passes. */
export interface WatchChangeFilter {
  readonly kinds?: readonly WatchChangeKind[] | undefined
  readonly list?: string | undefined
  readonly reference?: string | undefined
  readonly flightId?: string | undefined
}

export interface WatchChangePage {
  readonly after: number
  /** Records beyond it are not read. */
  readonly through?: number | undefined
  readonly limit: number
  readonly filter?: WatchChangeFilter | undefined
}

/** A reseller's records after a number of its own feed, in order. */
export async function readWatchChanges(
  db: Db,
  resellerId: number,
  { after, through, limit, filter = {} }: WatchChangePage,
): Promise<WatchChange[]> {
  const { rows } = await sql<WatchChangeRow>`
    select w.seq, w.watch_id as "watchId", w.reference, l.name as list, coalesce(c.kind, e.kind) as kind,
           coalesce(c.schema_version, e.schema_version) as "schemaVersion",
           f.flight_id as "flightId", f.return_flight_id as "returnFlightId", coalesce(c.before, e.before) as before,
           coalesce(c.after, e.after) as after,
           case when c.id is null then e.last_good_check_at else c.last_good_check_at end as "lastGoodCheckAt",
           coalesce(c.detected_at, e.detected_at) as "detectedAt",
           case when e.kind = 'watch_started' then e.detected_at end as "observedAt", w.recorded_at as "recordedAt"
      from ${FEED}
     where w.reseller_id = ${resellerId} and w.seq > ${after}
       and ${through === undefined ? sql`true` : sql`w.seq <= ${through}`}
       and ${passes(filter)}
     order by w.seq
     limit ${limit}
  `.execute(db)
  return rows.map(({ observedAt, ...record }) =>
    observedAt === null ? record : { ...record, observedAt },
  )
}

/** The number of the last record before another, but after a first, that passes a filter; 0 where none does. */
export async function findPassedBefore(
  db: Db,
  resellerId: number,
  {
    after,
    before,
    filter,
  }: { readonly after: number; readonly before: number; readonly filter: WatchChangeFilter },
): Promise<number> {
  const { rows } = await sql<{ seq: number }>`
    select w.seq
      from ${FEED}
     where w.reseller_id = ${resellerId} and w.seq > ${after} and w.seq < ${before}
       and ${passes(filter)}
     order by w.seq desc
     limit 1
  `.execute(db)
  return rows[0]?.seq ?? 0
}

const FEED = sql`
           watch_change w
      left join availability_change c on c.id = w.change_id
      left join watch_event e on e.id = w.watch_event_id
      join tracked_fare f on f.id = coalesce(c.tracked_fare_id, e.tracked_fare_id)
      left join (watch own join watch_list l on l.id = own.watch_list_id)
             on own.id = w.watch_id and own.reseller_id = w.reseller_id
`

function passes({ kinds, list, reference, flightId }: WatchChangeFilter): RawBuilder<unknown> {
  const all = [
    kinds === undefined ? [] : sql`coalesce(c.kind, e.kind) = any(${kinds}::text[])`,
    list === undefined ? [] : sql`l.name = ${list}`,
    reference === undefined ? [] : sql`w.reference = ${reference}`,
    flightId === undefined ? [] : sql`${flightId} in (f.flight_id, f.return_flight_id)`,
  ].flat()
  return all.length === 0 ? sql`true` : sql.join(all, sql` and `)
}

/** The last number of a reseller's feed; 0 while it is empty. */
export async function readFeedHead(db: Db, resellerId: number): Promise<number> {
  return (await readFeedHeads(db, [resellerId])).get(resellerId) ?? 0
}

/** The last numbers of resellers' feeds. */
export async function readFeedHeads(
  db: Db,
  resellerIds: readonly number[],
): Promise<ReadonlyMap<number, number>> {
  const { rows } = await sql<{ id: number; seq: number }>`
    select id, last_seq as seq from reseller where id = any(${resellerIds}::bigint[])
  `.execute(db)
  return new Map(rows.map(({ id, seq }) => [id, seq]))
}
