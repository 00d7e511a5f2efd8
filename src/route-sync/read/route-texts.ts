import type { Db } from '../../db/database.ts'
import { exportRoutes, jsonArray } from './export-routes.ts'
import type { ListForm } from './list-version.ts'
import { type RouteFilter, type RouteRow, streamRoutes } from './route-queries.ts'

/** Writes a form of the routes, a page at a time, in the order of their ids. */
export function routesText(
  db: Db,
  form: ListForm,
  filter: Omit<RouteFilter, 'onlyAvailable'>,
): AsyncGenerator<string> {
  if (form === 'csv') return exportRoutes(db, { ...filter, format: 'csv' })
  const pages = streamRoutes(db, { ...filter, onlyAvailable: form === 'with-availability' })
  return jsonArray(pages, (row) => JSON.stringify(upstreamShape(row)))
}

/** The upstream's own shape. */
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
