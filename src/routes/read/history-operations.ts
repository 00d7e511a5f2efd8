import { type Static, Type } from 'typebox'
import { type Db, type RawBuilder, sql } from '../../platform/db/database.ts'
import { operations } from '../../platform/http/operation.ts'
import {
  cursorsOf,
  InstantPosition,
  type PagePosition,
  pageOf,
  pageParameters,
} from '../../platform/http/pages.ts'
import { ProblemError } from '../../platform/http/problems.ts'
import { Instant, object, oneOf, orNull } from '../../platform/http/schemas.ts'
import { Place } from './route-operations.ts'

const { shared } = operations<{ readonly db: Db }>()

const PlaceId = Type.String({ minLength: 1, maxLength: 256 })
const Of = oneOf(['existence', 'availability'])
const validTo = orNull(Instant, 'Null while the interval lasts.')

const RouteInterval = object(
  {
    of: Of,
    available: orNull(
      Type.Boolean(),
      'Null in an interval of existence. If no interval of availability covers an instant, the availability was unknown.',
    ),
    validFrom: Instant,
    validTo,
  },
  { title: 'RouteInterval' },
)
type RouteInterval = Static<typeof RouteInterval>

/** A route with the last known attributes of its places. */
const KnownRoute = object({
  departure: Place,
  destination: Place,
  live: Type.Boolean(),
  since: orNull(Instant, 'When the route was last added. Null if it is not live.'),
  // Null if the route is not live, or if no accepted list covers it.
  available: orNull(Type.Boolean()),
})
const RouteHistory = object(
  { ...KnownRoute.properties, ...pageOf(RouteInterval).properties },
  { title: 'RouteHistory' },
)

const { id, ...attributes } = Place.properties
const PlaceInterval = object(
  { ...attributes, validFrom: Instant, validTo },
  { title: 'PlaceInterval' },
)
const PlaceHistory = object(
  { id, ...attributes, ...pageOf(PlaceInterval).properties },
  { title: 'PlaceHistory' },
)

const RouteParams = object({ departureId: PlaceId, destinationId: PlaceId })
type RoutePair = Static<typeof RouteParams>

const Position = object({ of: Of, validFrom: InstantPosition })
type Position = Static<typeof Position>
const routeCursors = cursorsOf('route-history', Position, ({ of, validFrom }: RouteInterval) => {
  return { of, validFrom: validFrom.getTime() }
})
const beginOf = ({ validFrom }: Static<typeof PlaceInterval>) => validFrom.getTime()
const placeCursors = cursorsOf('place-history', InstantPosition, beginOf)

const readRouteHistory = shared({
  id: 'readRouteHistory',
  method: 'GET',
  path: '/api/v1/routes/{departureId}/{destinationId}/history',
  tag: 'Routes and places',
  summary: 'List when a route existed and when it was available',
  description:
    'The instants are the valid times of the lists. Places are shown with their current attributes.',
  scope: 'read',
  params: RouteParams,
  query: object(pageParameters({ preset: 100, max: 1000 })),
  answer: { about: 'The route, and a page of its intervals, newest first.', schema: RouteHistory },
  problems: ['not_found', 'request.invalid_cursor'],
  example: { params: { departureId: 'PMI', destinationId: 'MAD' } },
  handler: async ({ db }, { params, query }) => {
    const route = await findKnownRoute(db, params)
    if (route === undefined) throw noSuchRoute(params)
    const read = (page: PagePosition<Position>) => listRouteIntervals(db, params, page)
    return { ...route, ...(await routeCursors.page(query, read, params)) }
  },
})

function noSuchRoute({ departureId, destinationId }: RoutePair): ProblemError {
  const detail = `no list ever had a route from ${quoted(departureId)} to ${quoted(destinationId)}`
  return new ProblemError('not_found', { missing: 'route', detail })
}

function quoted(text: string): string {
  return JSON.stringify(text)
}

const readPlace = shared({
  id: 'readPlace',
  method: 'GET',
  path: '/api/v1/places/{placeId}',
  tag: 'Routes and places',
  summary: 'Read a place with its present and past attributes',
  scope: 'read',
  params: object({ placeId: PlaceId }),
  query: object(pageParameters({ preset: 100, max: 1000 })),
  answer: {
    about: 'The present attributes, and a page of the intervals of all attributes, newest first.',
    schema: PlaceHistory,
  },
  problems: ['not_found', 'request.invalid_cursor'],
  example: { params: { placeId: 'PMI' } },
  handler: async ({ db }, { params: { placeId }, query }) => {
    const place = await findKnownPlace(db, placeId)
    if (place === undefined) {
      const detail = `no list ever had a place ${quoted(placeId)}`
      throw new ProblemError('not_found', { missing: 'place', detail })
    }
    const read = (page: PagePosition<number>) => listPlaceIntervals(db, placeId, page)
    return { ...place, ...(await placeCursors.page(query, read, placeId)) }
  },
})

/** The histories of single routes and places. */
export const HISTORY_OPERATIONS = [readRouteHistory, readPlace]

/** A route that is or was live; undefined if it never was. */
async function findKnownRoute(
  db: Db,
  { departureId, destinationId }: RoutePair,
): Promise<Static<typeof KnownRoute> | undefined> {
  const { rows } = await sql<Static<typeof KnownRoute>>`
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
async function listRouteIntervals(
  db: Db,
  { departureId, destinationId }: RoutePair,
  { limit, after }: PagePosition<Position>,
): Promise<RouteInterval[]> {
  const ofRoute = sql`departure_id = ${departureId} and destination_id = ${destinationId}`
  const earlier =
    after === undefined
      ? sql`true`
      : sql`(valid_from, of) < (${new Date(after.validFrom)}, ${after.of}::text)`
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
async function findKnownPlace(db: Db, placeId: string): Promise<Static<typeof Place> | undefined> {
  const { rows } = await sql<{ place: Static<typeof Place> | null }>`
    select ${lastKnownPlace(placeId)} as place
  `.execute(db)
  return rows[0]?.place ?? undefined
}

/** The attributes of a place over time, the newest first. */
async function listPlaceIntervals(db: Db, placeId: string, { limit, after }: PagePosition<number>) {
  const intervals = db
    .selectFrom('place_version')
    .select(['iata', 'city', 'country', 'valid_from as validFrom', 'valid_to as validTo'])
    .where('place_id', '=', placeId)
    .orderBy('valid_from', 'desc')
    .limit(limit)
  return after === undefined
    ? intervals.execute()
    : intervals.where('valid_from', '<', new Date(after)).execute()
}

function lastKnownPlace(placeId: string): RawBuilder<unknown> {
  return sql`
    (select jsonb_build_object('id', place_id, 'iata', iata, 'city', city, 'country', country)
       from place_version where place_id = ${placeId} order by valid_from desc limit 1)`
}
