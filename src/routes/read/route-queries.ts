import { type Db, type RawBuilder, sql } from '../../platform/db/database.ts'
import { ACCEPTED } from '../runs.ts'

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
  /** Null until an accepted with-availability list covers the route. */
  readonly available: boolean | null
}

export interface RouteFilter {
  /** The routes as of this instant; now if missing. */
  readonly asOf?: Date | undefined
  readonly onlyAvailable?: boolean | undefined
  /** The id of the place, or its airport code in any letter case. */
  readonly departure?: string | undefined
  readonly destination?: string | undefined
  /** Of the departure or the destination, in any letter case. */
  readonly country?: string | undefined
}

const PAGE_ROWS = 5_000

/**
 * Streams routes in the order of their ids, a page at a time, all pages as of one instant: `asOf`, or the last accepted
 * list if that is earlier. Past instants never change, so no connection is held between pages, however slowly the
 * consumer takes them.
 */
export async function* streamRoutes(db: Db, filter: RouteFilter = {}): AsyncGenerator<RouteRow[]> {
  const last = await readLastAcceptedAt(db)
  if (last === null) return
  // After the last accepted list the state may still change between two pages.
  const instant = filter.asOf !== undefined && filter.asOf < last ? filter.asOf : last
  for (let after: RouteRow | undefined; ; ) {
    const page: RouteRow[] = await readPage(db, { ...filter, instant, after })
    if (page.length === 0) return
    yield page
    after = page.at(-1)
  }
}

/** The valid time of the last accepted list of either kind; null before the first. */
async function readLastAcceptedAt(db: Db): Promise<Date | null> {
  const { last } = await db
    .selectFrom('sync_run')
    .select(({ fn }) => fn.max('fetched_at').as('last'))
    .where(sql<boolean>`status in ${ACCEPTED}`)
    .executeTakeFirstOrThrow()
  return last
}

interface PageArgs extends RouteFilter {
  readonly instant: Date
  readonly after: RouteRow | undefined
}

/**
 * The rows of farewatch.routes_as_of after those of the page before.
 *
 * The function itself is not used: Postgres would merge routes with availability and read the availability of all
 * earlier pages again, which takes 40 to 110 ms a page at a million routes, and grows. Lookups take 20 ms for any page.
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

/** A condition on the routes `r`: between the requested places. */
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
