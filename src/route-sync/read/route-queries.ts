import { type Db, type RawBuilder, sql } from '../../db/database.ts'
import { selectOne } from '../../db/transaction.ts'
import type { RouteListName } from '../../upstream/route-list.ts'
import { ACCEPTED, ARRIVED_AT } from '../runs/run-records.ts'

/** A route with both places' attributes, as the public SQL shows it. */
export interface RouteRow {
  readonly departureId: string
  readonly departureIata: string
  readonly departureCity: string
  readonly departureCountry: string
  readonly destinationId: string
  readonly destinationIata: string
  readonly destinationCity: string
  readonly destinationCountry: string
  readonly since: Date
  /** Null until an accepted with-availability list has spoken of it. */
  readonly available: boolean | null
}

export interface RouteFilter {
  /** The instant of time travel; the present where missing. */
  readonly asOf?: Date | undefined
  readonly onlyAvailable?: boolean | undefined
  /** A place by its id or, in any case, its airport code. */
  readonly departure?: string | undefined
  readonly destination?: string | undefined
  /** Of either end, in any case. */
  readonly country?: string | undefined
}

const PAGE_ROWS = 5_000

/**
 * Streams routes in the order of their ids, a page at a time, all pages as one instant shows them: the one asked
 * for, but no later than the last accepted list. Past instants never change, so no connection is held between
 * pages, however slowly they are taken.
 */
export async function* streamRoutes(db: Db, filter: RouteFilter = {}): AsyncGenerator<RouteRow[]> {
  const settled = await findLastSettled(db)
  if (settled === null) return
  // What comes later than that may still change between two pages; what is known of it is what holds now.
  const instant = filter.asOf !== undefined && filter.asOf < settled ? filter.asOf : settled
  for (let after: RouteRow | undefined; ; ) {
    const page: RouteRow[] = await readPage(db, { ...filter, instant, after })
    if (page.length === 0) return
    yield page
    after = page.at(-1)
  }
}

/** The valid time of the last list that was applied, of either kind; null before the first. */
async function findLastSettled(db: Db): Promise<Date | null> {
  const { rows } = await sql<{ instant: Date | null }>`
    select max(fetched_at) as instant from sync_run where status in ${ACCEPTED}
  `.execute(db)
  return rows[0]?.instant ?? null
}

/** The valid times of a list's first accepted run, and of the last one of either list; null before the first. */
export async function readHistorySpan(
  db: Db,
  list: RouteListName,
): Promise<{ first: Date | null; last: Date | null }> {
  return selectOne(
    sql<{ first: Date | null; last: Date | null }>`
      select min(fetched_at) filter (where list = ${list}) as first, max(fetched_at) as last
        from sync_run
       where status in ${ACCEPTED}
    `,
    db,
  )
}

interface PageArgs extends RouteFilter {
  readonly instant: Date
  readonly after: RouteRow | undefined
}

/**
 * The rows of farewatch.routes_as_of after those of the page before.
 *
 * Not asked of the function itself: there the planner merges routes with availabilities, which reads those of all
 * pages before once more (at a million routes 40 to 110 ms a page, growing; by lookups it is 20 ms, any page).
 */
async function readPage(db: Db, args: PageArgs): Promise<RouteRow[]> {
  const { instant, onlyAvailable, after } = args
  const later =
    after === undefined
      ? sql`true`
      : sql`(r.departure_id, r.destination_id) > (${after.departureId}, ${after.destinationId})`
  const { rows } = await sql<RouteRow>`
    select r.departure_id as "departureId", d.iata as "departureIata",
           d.city as "departureCity", d.country as "departureCountry",
           r.destination_id as "destinationId", a.iata as "destinationIata",
           a.city as "destinationCity", a.country as "destinationCountry",
           r.valid_from as since, r.available
      from (select r.departure_id, r.destination_id, r.valid_from, v.available
              from route_version r
              left join lateral (select v.available
                                   from route_availability_version v
                                  where (v.departure_id, v.destination_id) = (r.departure_id, r.destination_id)
                                    and v.valid_from <= ${instant} and (v.valid_to is null or v.valid_to > ${instant})
                                  limit 1) v on true
             where tstzrange(r.valid_from, r.valid_to) @> ${instant}::timestamptz
               and ${later} and ${onlyAvailable === true ? sql`v.available` : sql`true`} and ${betweenPlaces(args)}
             order by r.departure_id, r.destination_id
             limit ${PAGE_ROWS}) r
      join place_version d on d.place_id = r.departure_id and tstzrange(d.valid_from, d.valid_to) @> ${instant}::timestamptz
      join place_version a on a.place_id = r.destination_id and tstzrange(a.valid_from, a.valid_to) @> ${instant}::timestamptz
     order by r.departure_id, r.destination_id
  `.execute(db)
  return rows
}

/** Of the routes `r`, those between the places that are asked for. */
function betweenPlaces({
  instant,
  departure,
  destination,
  country,
}: PageArgs): RawBuilder<unknown> {
  const places = (which: RawBuilder<unknown>) => sql`
    (select place_id from place_version
      where tstzrange(valid_from, valid_to) @> ${instant}::timestamptz and ${which})
  `
  const named = (name: string) => places(sql`(place_id = ${name} or lower(iata) = lower(${name}))`)
  const parts = [
    ...(departure === undefined ? [] : [sql`r.departure_id in ${named(departure)}`]),
    ...(destination === undefined ? [] : [sql`r.destination_id in ${named(destination)}`]),
  ]
  if (country !== undefined) {
    const inCountry = places(sql`lower(country) = lower(${country})`)
    parts.push(sql`(r.departure_id in ${inCountry} or r.destination_id in ${inCountry})`)
  }
  return parts.length === 0 ? sql`true` : sql.join(parts, sql` and `)
}

/** Freshness and size of what we hold, for gauges and status. */
export interface SyncState {
  readonly list: RouteListName
  readonly lastSuccessAt: Date | null
  readonly lastAttemptAt: Date | null
  readonly held: number
}

export async function readSyncStates(db: Db): Promise<SyncState[]> {
  const { rows } = await sql<SyncState>`
    select list.name as list,
           (select max(${ARRIVED_AT}) from sync_run where sync_run.list = list.name and status in ${ACCEPTED}) as "lastSuccessAt",
           (select max(started_at) from sync_run where sync_run.list = list.name) as "lastAttemptAt",
           (select count(*) from sync_run where sync_run.list = list.name and status = 'held') as held
      from (values ('routes'), ('with-availability')) list (name)
  `.execute(db)
  return rows
}

export async function countRoutes(db: Db): Promise<{ live: number; available: number }> {
  const { rows } = await sql<{ live: number; available: number }>`
    select (select count(*) from route_version where valid_to is null) as live,
           (select count(*) from route_availability_version where valid_to is null and available) as available
  `.execute(db)
  return rows[0] ?? { live: 0, available: 0 }
}
