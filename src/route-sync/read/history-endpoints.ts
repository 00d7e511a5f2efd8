import { Type } from 'typebox'
import type { Db } from '../../db/database.ts'
import { operations } from '../../http/operation.ts'
import { cursorsOf, pageOf, pageParameters } from '../../http/pages.ts'
import { ProblemError } from '../../http/problems.ts'
import { Instant, object, oneOf, orNull } from '../../http/schemas.ts'
import { findKnownRoute, listRouteIntervals, type RoutePair } from './history-queries.ts'

const { shared } = operations<{ readonly db: Db }>()

const PlaceId = Type.String({ minLength: 1, maxLength: 256 })
const Place = object({
  id: Type.String(),
  iata: Type.String(),
  city: Type.String(),
  country: Type.String(),
})
const MaybeBoolean = orNull(Type.Boolean())
const Of = oneOf(['existence', 'availability'])

const Interval = object({
  of: Of,
  available: orNull(
    Type.Boolean(),
    'Null of existence. Without an interval of availability it is not known.',
  ),
  validFrom: Instant,
  validTo: orNull(Instant, 'Null while it holds.'),
})

const History = object({
  departure: Place,
  destination: Place,
  live: Type.Boolean(),
  since: orNull(Instant, 'Since when it is live, this time; null where it is not.'),
  available: MaybeBoolean,
  ...pageOf(Interval).properties,
})

const Position = object({ of: Of, validFrom: Type.String({ format: 'date-time' }) })
const cursors = cursorsOf('route-history', Position)

const readRouteHistory = shared({
  id: 'readRouteHistory',
  method: 'GET',
  path: '/api/v1/routes/{departureId}/{destinationId}/history',
  tag: 'Routes and places',
  summary: 'When a route existed, and when it was available',
  description:
    'Instants are those at which the lists were fetched that showed it. A place is shown as it is known now.',
  scope: 'read',
  params: object({ departureId: PlaceId, destinationId: PlaceId }),
  query: object(pageParameters({ preset: 100, max: 1000 })),
  answer: { about: 'The route, and a page of its intervals, the newest first.', schema: History },
  problems: ['not_found', 'request.invalid_cursor'],
  example: { params: { departureId: 'PMI', destinationId: 'MAD' } },
  handler: async ({ db }, { params, query: { limit, cursor } }) => {
    const route = await findKnownRoute(db, params)
    if (route === undefined) throw noSuchRoute(params)
    const position = cursors.read(cursor, params)
    const after = position && { of: position.of, validFrom: new Date(position.validFrom) }
    const intervals = await listRouteIntervals(db, params, { limit: limit + 1, after })
    const page = cursors.page(intervals, {
      limit,
      bound: params,
      positionOf: ({ of, validFrom }) => ({ of, validFrom: validFrom.toISOString() }),
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

/** The history of single routes. */
export const HISTORY_OPERATIONS = [readRouteHistory]
