import { Type } from 'typebox'
import type { Db } from '../../platform/db/database.ts'
import { operations } from '../../platform/http/operation.ts'
import { cursorsOf, InstantPosition, pageOf, pageParameters } from '../../platform/http/pages.ts'
import { ProblemError } from '../../platform/http/problems.ts'
import { Instant, object, oneOf, orNull } from '../../platform/http/schemas.ts'
import {
  findKnownPlace,
  findKnownRoute,
  listPlaceIntervals,
  listRouteIntervals,
  type RoutePair,
} from './history-queries.ts'
import { Place } from './route-operations.ts'

const { shared } = operations<{ readonly db: Db }>()

const PlaceId = Type.String({ minLength: 1, maxLength: 256 })
const Of = oneOf(['existence', 'availability'])
const MaybeBoolean = orNull(Type.Boolean())
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

const RouteHistory = object(
  {
    departure: Place,
    destination: Place,
    live: Type.Boolean(),
    since: orNull(Instant, 'When the route was last added. Null if it is not live.'),
    available: MaybeBoolean,
    ...pageOf(RouteInterval).properties,
  },
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

const Position = object({ of: Of, validFrom: InstantPosition })
const routeCursors = cursorsOf('route-history', Position)
const placeCursors = cursorsOf('place-history', InstantPosition)

const readRouteHistory = shared({
  id: 'readRouteHistory',
  method: 'GET',
  path: '/api/v1/routes/{departureId}/{destinationId}/history',
  tag: 'Routes and places',
  summary: 'List when a route existed and when it was available',
  description:
    'The instants are the valid times of the lists. Places are shown with their current attributes.',
  scope: 'read',
  params: object({ departureId: PlaceId, destinationId: PlaceId }),
  query: object(pageParameters({ preset: 100, max: 1000 })),
  answer: { about: 'The route, and a page of its intervals, newest first.', schema: RouteHistory },
  problems: ['not_found', 'request.invalid_cursor'],
  example: { params: { departureId: 'PMI', destinationId: 'MAD' } },
  handler: async ({ db }, { params, query: { limit, cursor } }) => {
    const route = await findKnownRoute(db, params)
    if (route === undefined) throw noSuchRoute(params)
    const position = routeCursors.read(cursor, params)
    const after = position && { of: position.of, validFrom: new Date(position.validFrom) }
    const intervals = await listRouteIntervals(db, params, { limit: limit + 1, after })
    const page = routeCursors.page(intervals, {
      limit,
      bound: params,
      positionOf: ({ of, validFrom }) => ({ of, validFrom: validFrom.getTime() }),
    })
    return { ...route, ...page }
  },
})

function noSuchRoute({ departureId, destinationId }: RoutePair): ProblemError {
  const detail = `no list ever had a route from ${quoted(departureId)} to ${quoted(destinationId)}`
  return new ProblemError('not_found', { detail })
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
  handler: async ({ db }, { params: { placeId }, query: { limit, cursor } }) => {
    const place = await findKnownPlace(db, placeId)
    if (place === undefined) {
      throw new ProblemError('not_found', { detail: `no list ever had a place ${quoted(placeId)}` })
    }
    const position = placeCursors.read(cursor, placeId)
    const after = position === undefined ? undefined : new Date(position)
    const intervals = await listPlaceIntervals(db, placeId, { limit: limit + 1, after })
    const page = placeCursors.page(intervals, {
      limit,
      bound: placeId,
      positionOf: ({ validFrom }) => validFrom.getTime(),
    })
    return { ...place, ...page }
  },
})

/** The histories of single routes and places. */
export const HISTORY_OPERATIONS = [readRouteHistory, readPlace]
