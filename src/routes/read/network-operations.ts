import { Type } from 'typebox'
import type { Clock } from '../../platform/base/clock.ts'
import type { Db } from '../../platform/db/database.ts'
import { assertKept } from '../../platform/db/history-floor.ts'
import { operations } from '../../platform/http/operation.ts'
import { ProblemError } from '../../platform/http/problems.ts'
import { Instant, instant, object, orNull } from '../../platform/http/schemas.ts'
import { MAX_CHANGES, readDifference, readPlaces } from './network-queries.ts'

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

const listPlaces = shared({
  id: 'listPlaces',
  method: 'GET',
  path: '/api/v1/places',
  tag: 'Routes and places',
  summary: 'List all places with their positions',
  scope: 'read',
  answer: {
    about: 'The places with their present attributes, by id.',
    schema: object({ items: Type.Array(LocatedPlace) }),
  },
  handler: async ({ db }) => ({ items: await readPlaces(db) }),
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
      live: Type.Record(Type.String(), Type.Array(Type.String()), {
        description: 'The destinations of each departure at `to`, all as place ids.',
      }),
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
