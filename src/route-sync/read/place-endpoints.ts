import { Type } from 'typebox'
import type { Db } from '../../db/database.ts'
import { operations } from '../../http/operation.ts'
import { cursorsOf, pageOf, pageParameters } from '../../http/pages.ts'
import { ProblemError } from '../../http/problems.ts'
import { Instant, object, orNull } from '../../http/schemas.ts'
import { findKnownPlace, listPlaceIntervals } from './history-queries.ts'

const { shared } = operations<{ readonly db: Db }>()

const attributes = { iata: Type.String(), city: Type.String(), country: Type.String() }

const Interval = object({
  ...attributes,
  validFrom: Instant,
  validTo: orNull(Instant, 'Null while they hold.'),
})
const Place = object({
  id: Type.String({ description: 'What the place is known by; everything else may change.' }),
  ...attributes,
  ...pageOf(Interval).properties,
})

const cursors = cursorsOf('place-history', Type.String({ format: 'date-time' }))

const readPlace = shared({
  id: 'readPlace',
  method: 'GET',
  path: '/api/v1/places/{placeId}',
  tag: 'Routes and places',
  summary: 'A place, and the attributes that it has had',
  scope: 'read',
  params: object({ placeId: Type.String({ minLength: 1, maxLength: 256 }) }),
  query: object(pageParameters({ preset: 100, max: 1000 })),
  answer: {
    about:
      'The attributes that hold now, and a page of those since the first list, the newest first.',
    schema: Place,
  },
  problems: ['not_found', 'request.invalid_cursor'],
  example: { params: { placeId: 'PMI' } },
  handler: async ({ db }, { params: { placeId }, query: { limit, cursor } }) => {
    const place = await findKnownPlace(db, placeId)
    if (place === undefined) {
      const detail = `no list ever had a place ${JSON.stringify(placeId)}`
      throw new ProblemError('not_found', { detail })
    }
    const position = cursors.read(cursor, placeId)
    const after = position === undefined ? undefined : new Date(position)
    const intervals = await listPlaceIntervals(db, placeId, { limit: limit + 1, after })
    const page = cursors.page(intervals, {
      limit,
      bound: placeId,
      positionOf: ({ validFrom }) => validFrom.toISOString(),
    })
    return { ...place, ...page }
  },
})

/** Single places. */
export const PLACE_OPERATIONS = [readPlace]
