import { Type } from 'typebox'
import type { Db } from '../db/database.ts'
import { operations } from '../http/operation.ts'
import { sendText } from '../http/send-text.ts'
import { exportRoutes, jsonArray } from './export-routes.ts'
import { type RouteRow, streamRoutes } from './route-queries.ts'

const { shared } = operations<{ readonly db: Db }>()

const CLOSED = { additionalProperties: false }
const Place = Type.Object(
  { id: Type.String(), iata: Type.String(), city: Type.String(), country: Type.String() },
  CLOSED,
)
const Routes = Type.Array(Type.Object({ departure: Place, destination: Place }, CLOSED))

const EXAMPLE = [
  {
    departure: { id: '1', iata: 'PMI', city: 'Palma', country: 'Spain' },
    destination: { id: '2', iata: 'MAD', city: 'Madrid', country: 'Spain' },
  },
]

const listRoutes = shared({
  id: 'listRoutes',
  method: 'GET',
  path: '/api/v1/data/routes',
  tag: 'The upstream’s interface',
  summary: 'All routes',
  scope: 'read',
  upstream: true,
  answer: { about: 'The live routes, by the ids of their places.', schema: Routes },
  example: { answer: EXAMPLE },
  handler: async ({ db }, { reply }) =>
    sendText(reply.type('application/json'), routesJson(db, false)),
})

const listAvailableRoutes = shared({
  id: 'listAvailableRoutes',
  method: 'GET',
  path: '/api/v1/data/routes/with-availability',
  tag: 'The upstream’s interface',
  summary: 'The routes with availability',
  scope: 'read',
  upstream: true,
  answer: { about: 'Those of the live routes that are available.', schema: Routes },
  example: { answer: EXAMPLE },
  handler: async ({ db }, { reply }) =>
    sendText(reply.type('application/json'), routesJson(db, true)),
})

const exportRoutesCsv = shared({
  id: 'exportRoutesCsv',
  method: 'GET',
  path: '/api/v1/data/routes/csv',
  tag: 'The upstream’s interface',
  summary: 'All routes as CSV',
  scope: 'read',
  upstream: true,
  answer: {
    about: 'A header line, then a line a route.',
    type: 'text/csv; charset=utf-8; header=present',
  },
  example: {
    answer: 'departure_id,departure_iata,…',
  },
  handler: async ({ db }, { reply }) =>
    sendText(
      reply.header('content-disposition', 'attachment; filename="routes.csv"'),
      exportRoutes(db, { format: 'csv' }),
    ),
})

/** The upstream's route lists from our tables. */
export const ROUTE_OPERATIONS = [listRoutes, listAvailableRoutes, exportRoutesCsv]

/** The upstream's own shape: a JSON array of departure and destination. */
function routesJson(db: Db, onlyAvailable: boolean): AsyncGenerator<string> {
  return jsonArray(streamRoutes(db, { onlyAvailable }), (row) => JSON.stringify(upstreamShape(row)))
}

function upstreamShape(row: RouteRow) {
  return {
    departure: {
      id: row.departureId,
      iata: row.departureIata,
      city: row.departureCity,
      country: row.departureCountry,
    },
    destination: {
      id: row.destinationId,
      iata: row.destinationIata,
      city: row.destinationCity,
      country: row.destinationCountry,
    },
  }
}
