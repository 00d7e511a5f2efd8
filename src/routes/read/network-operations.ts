import { type Static, Type } from 'typebox'
import type { Clock } from '../../platform/base/clock.ts'
import { type Db, type RawBuilder, sql, type Tx } from '../../platform/db/database.ts'
import { assertKept, HISTORY_FLOOR } from '../../platform/db/history-floor.ts'
import { operations } from '../../platform/http/operation.ts'
import { cursorsOf, pageOf, pageParameters } from '../../platform/http/pages.ts'
import { ProblemError } from '../../platform/http/problems.ts'
import { Instant, instant, object, orNull } from '../../platform/http/schemas.ts'

const { shared } = operations<{ readonly db: Db; readonly clock: Clock }>()

const LocatedPlace = object(
  {
    id: Type.String(),
    iata: Type.String(),
    city: Type.String(),
    country: Type.String({ description: 'As the upstream writes it.' }),
    isoCountry: orNull(Type.String(), 'ISO 3166-1 alpha-2, by the airport of the IATA code.'),
    latitude: orNull(Type.Number(), 'Degrees. Null if the IATA code is not known.'),
    longitude: orNull(Type.Number()),
    zone: orNull(Type.String(), 'The IANA time zone.'),
  },
  { title: 'LocatedPlace' },
)

const cursors = cursorsOf('places', Type.String(), ({ id }: { id: string }) => id)

const listPlaces = shared({
  id: 'listPlaces',
  method: 'GET',
  path: '/api/v1/places',
  tag: 'Routes and places',
  summary: 'List all places with their positions',
  scope: 'read',
  query: object(pageParameters({ preset: 1000, max: 10_000 })),
  answer: {
    about: 'A page of places with their present attributes, by id.',
    schema: pageOf(LocatedPlace),
  },
  problems: ['request.invalid_cursor'],
  handler: ({ db }, { query }) => cursors.page(query, (page) => readPlaces(db, page)),
})

const Change = object(
  {
    departureId: Type.String(),
    destinationId: Type.String(),
    added: Type.Boolean({ description: 'false: the route was removed.' }),
    at: instant('The valid time of the change.'),
  },
  { title: 'NetworkChange' },
)

/** Destinations by departure, both as place ids. */
export const destinations = (description: string) =>
  Type.Record(Type.String(), Type.Array(Type.String()), { description })

const compareNetworks = shared({
  id: 'readRouteDifference',
  method: 'GET',
  path: '/api/v1/routes/difference',
  tag: 'Routes and places',
  summary: 'Read the live routes at one instant, and all changes since an earlier one',
  description:
    'With one answer a client can show the routes at any instant between the two: undo the changes from the last one back. ' +
    'The first accepted list is the baseline and no change: its routes count as live before it.',
  scope: 'read',
  query: object({
    from: instant('The earlier instant.'),
    to: Type.Optional(instant('The later instant. Default: now.')),
  }),
  answer: {
    about: 'The routes at `to` and the changes after `from` and up to `to`.',
    schema: object({
      from: Instant,
      to: Instant,
      live: destinations('The destinations of each departure at `to`, all as place ids.'),
      changes: Type.Array(Change, { description: 'Oldest first.' }),
    }),
  },
  problems: ['routes.too_many_changes', 'history.archived'],
  example: { query: { from: '2020-01-01T00:00:00Z' } },
  handler: async ({ db, clock }, { query }) => {
    const { from, to = clock.now() } = query
    if (from > to) {
      throw new ProblemError('request.invalid', {
        parameter: 'from',
        detail: 'from must not be after to',
      })
    }
    await assertKept(db, from)
    const found = await readDifference(db, { from, to })
    if (found !== undefined) return { from, to, ...found }
    throw new ProblemError('routes.too_many_changes', {
      detail: `more than ${MAX_CHANGES} changes lie between the two instants: ask for a shorter time`,
    })
  },
})

/** The routes as a network on a map. */
export const NETWORK_OPERATIONS = [listPlaces, compareNetworks]

/** The places with their present attributes, and their airports' positions where the codes are known. */
async function readPlaces(
  db: Db,
  { after = '', limit }: { readonly after?: string | undefined; readonly limit: number },
) {
  return db
    .selectFrom('place_version as p')
    .leftJoin('airport as a', 'a.iata', 'p.iata')
    .select(['p.place_id as id', 'p.iata', 'p.city', 'p.country', 'a.country as isoCountry'])
    .select(['a.latitude', 'a.longitude', 'a.zone'])
    .where('p.valid_to', 'is', null)
    .where('p.place_id', '>', after)
    .orderBy('p.place_id')
    .limit(limit)
    .execute()
}

/** The most changes that one answer carries. */
const MAX_CHANGES = 200_000

/**
 * The first list is no change: its routes count as live before. The changes are by valid time, oldest first.
 * Undefined if there are more than MAX_CHANGES of them.
 */
async function readDifference(db: Db, { from, to }: { readonly from: Date; readonly to: Date }) {
  return db
    .transaction()
    .setIsolationLevel('repeatable read')
    .setAccessMode('read only')
    .execute(async (tx) => {
      const changes = await sql<Static<typeof Change>>`
        select departure_id as "departureId", destination_id as "destinationId", added, at
          from (select departure_id, destination_id, true as added, valid_from as at from route_version
                 where valid_from > ${from} and valid_from <= ${to}
                   and valid_from > (select least(min(valid_from), ${HISTORY_FLOOR}) from route_version)
                union all
                select departure_id, destination_id, false, valid_to from route_version
                 where valid_to > ${from} and valid_to <= ${to}) c
         order by at, departure_id, destination_id
         limit ${MAX_CHANGES + 1}
      `.execute(tx)
      if (changes.rows.length > MAX_CHANGES) return undefined
      const live = sql`route_version where tstzrange(valid_from, valid_to) @> ${to}::timestamptz`
      return { live: await readDestinations(tx, live), changes: changes.rows }
    })
}

/** The destinations of each departure of some routes, all as place ids. */
export async function readDestinations(
  tx: Tx,
  routes: RawBuilder<unknown>,
): Promise<Record<string, string[]>> {
  const { rows } = await sql<{ id: string; destinations: string[] }>`
    select departure_id as id, array_agg(destination_id order by destination_id) as destinations
      from ${routes}
     group by departure_id
     order by departure_id
  `.execute(tx)
  return Object.fromEntries(rows.map(({ id, destinations }) => [id, destinations]))
}
