import { stringify } from 'csv-stringify/sync'
import type { Db } from '../../platform/db/database.ts'
import type { ListForm } from './list-version.ts'
import { type RouteFilter, type RouteRow, streamRoutes } from './route-queries.ts'

export const EXPORT_FORMATS = ['csv', 'json'] as const
export type ExportFormat = (typeof EXPORT_FORMATS)[number]

/** The columns of an export, in the order of `farewatch.routes_current`, which calls `since` valid_from. */
const COLUMNS: readonly (readonly [keyof RouteRow, string])[] = [
  ['departureId', 'departure_id'],
  ['departureIata', 'departure_iata'],
  ['departureCity', 'departure_city'],
  ['departureCountry', 'departure_country'],
  ['destinationId', 'destination_id'],
  ['destinationIata', 'destination_iata'],
  ['destinationCity', 'destination_city'],
  ['destinationCountry', 'destination_country'],
  ['since', 'since'],
  ['available', 'available'],
]

type Pages = AsyncIterable<readonly RouteRow[]>

export interface RouteExport extends RouteFilter {
  readonly format: ExportFormat
}

/**
 * Writes routes as text, a page at a time, in the order of their ids: CSV with a header, or one JSON array.
 *
 * The next page is queried when the last one was taken, so a consumer that stops leaves nothing open. Times are ISO
 * 8601 in UTC; an unknown availability is empty in CSV and null in JSON.
 */
export function exportRoutes(db: Db, { format, ...filter }: RouteExport): AsyncGenerator<string> {
  const pages = streamRoutes(db, filter)
  return format === 'csv' ? csvText(pages) : jsonArray(pages, exportShape)
}

/** Writes one of the forms that the API serves, a page at a time, in the order of their ids. */
export function routesText(
  db: Db,
  form: ListForm,
  filter: Omit<RouteFilter, 'onlyAvailable'>,
): AsyncGenerator<string> {
  const pages = streamRoutes(db, { ...filter, onlyAvailable: form === 'with-availability' })
  return form === 'csv' ? csvText(pages) : jsonArray(pages, upstreamShape)
}

/** Pages of CSV lines. A cell that starts like a formula gets a leading apostrophe: a spreadsheet would run it. */
export async function* csvText(pages: Pages): AsyncGenerator<string> {
  yield stringify([COLUMNS.map(([, column]) => column)])
  for await (const page of pages) {
    const rows = page.map((row) => COLUMNS.map(([field]) => cellOf(row[field])))
    yield stringify(rows, { escape_formulas: true })
  }
}

function cellOf(value: RouteRow[keyof RouteRow]): string {
  if (value instanceof Date) return value.toISOString()
  return value === null ? '' : String(value)
}

/** One JSON array, with one element a line. */
async function* jsonArray(
  pages: Pages,
  elementOf: (row: RouteRow) => object,
): AsyncGenerator<string> {
  let separator = '[\n'
  for await (const page of pages) {
    yield separator + page.map((row) => JSON.stringify(elementOf(row))).join(',\n')
    separator = ',\n'
  }
  yield separator === '[\n' ? '[]\n' : '\n]\n'
}

function exportShape(row: RouteRow): object {
  return Object.fromEntries(COLUMNS.map(([field, column]) => [column, row[field]]))
}

/** The shape that the upstream's interface gives a route. */
function upstreamShape(row: RouteRow): object {
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
