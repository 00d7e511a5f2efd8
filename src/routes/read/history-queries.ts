import { type Db, type RawBuilder, sql } from '../../platform/db/database.ts'
import type { Place } from '../../upstream/route-list.ts'

/** A route with the last known attributes of its places. */
export interface KnownRoute {
  readonly departure: Place
  readonly destination: Place
  readonly live: boolean
  /** When the list that last added it was fetched; null if it is not live. */
  readonly since: Date | null
  /** Null if it is not live, or if no accepted list covers it. */
  readonly available: boolean | null
}

export interface RoutePair {
  readonly departureId: string
  readonly destinationId: string
}

/** An interval of a route's existence, or of its availability while it existed. */
export interface RouteInterval {
  readonly of: 'existence' | 'availability'
  /** Null in an interval of existence. */
  readonly available: boolean | null
  readonly validFrom: Date
  /** Null while the interval lasts. */
  readonly validTo: Date | null
}

export interface PlaceInterval extends Omit<Place, 'id'> {
  readonly validFrom: Date
  readonly validTo: Date | null
}

interface HistoryPage<Position> {
  readonly limit: number
  /** The last interval of the page before. */
  readonly after?: Position | undefined
}

/** A route that is or was live; undefined if it never was. */
export async function findKnownRoute(
  db: Db,
  { departureId, destinationId }: RoutePair,
): Promise<KnownRoute | undefined> {
  const { rows } = await sql<KnownRoute>`
    select ${lastKnownPlace(departureId)} as departure, ${lastKnownPlace(destinationId)} as destination,
           r.valid_to is null as live,
           case when r.valid_to is null then r.valid_from end as since,
           case when r.valid_to is null
                then (select v.available
                        from route_availability_version v
                       where v.departure_id = ${departureId} and v.destination_id = ${destinationId}
                         and v.valid_to is null) end as available
      from route_version r
     where r.departure_id = ${departureId} and r.destination_id = ${destinationId}
     order by r.valid_from desc
     limit 1
  `.execute(db)
  return rows[0]
}

/** The intervals of a route, the newest first. If two start together, the interval of existence is first. */
export async function listRouteIntervals(
  db: Db,
  { departureId, destinationId }: RoutePair,
  { limit, after }: HistoryPage<Pick<RouteInterval, 'of' | 'validFrom'>>,
): Promise<RouteInterval[]> {
  const ofRoute = sql`departure_id = ${departureId} and destination_id = ${destinationId}`
  const earlier =
    after === undefined
      ? sql`true`
      : sql`(valid_from, of) < (${after.validFrom}, ${after.of}::text)`
  const { rows } = await sql<RouteInterval>`
    select of, available, valid_from as "validFrom", valid_to as "validTo"
      from (select 'existence'::text as of, null::boolean as available, valid_from, valid_to
              from route_version where ${ofRoute}
             union all
            select 'availability', available, valid_from, valid_to
              from route_availability_version where ${ofRoute}) i
     where ${earlier}
     order by valid_from desc, of desc
     limit ${limit}
  `.execute(db)
  return rows
}

/** A place with its current attributes; undefined if no list ever had it. */
export async function findKnownPlace(db: Db, placeId: string): Promise<Place | undefined> {
  const { rows } = await sql<{ place: Place | null }>`
    select ${lastKnownPlace(placeId)} as place
  `.execute(db)
  return rows[0]?.place ?? undefined
}

/** The attributes of a place over time, the newest first. */
export async function listPlaceIntervals(
  db: Db,
  placeId: string,
  { limit, after }: HistoryPage<Date>,
): Promise<PlaceInterval[]> {
  const intervals = db
    .selectFrom('place_version')
    .select(['iata', 'city', 'country', 'valid_from as validFrom', 'valid_to as validTo'])
    .where('place_id', '=', placeId)
    .orderBy('valid_from', 'desc')
    .limit(limit)
  return (after === undefined ? intervals : intervals.where('valid_from', '<', after)).execute()
}

function lastKnownPlace(placeId: string): RawBuilder<unknown> {
  return sql`
    (select jsonb_build_object('id', place_id, 'iata', iata, 'city', city, 'country', country)
       from place_version where place_id = ${placeId} order by valid_from desc limit 1)`
}
