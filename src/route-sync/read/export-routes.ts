import { stringify } from 'csv-stringify/sync'
import type { Db } from '../../db/database.ts'
import { type RouteFilter, type RouteRow, streamRoutes } from './route-queries.ts'

export const EXPORT_FORMATS = ['csv', 'json'] as const
export type ExportFormat = (typeof EXPORT_FORMATS)[number]

export interface RouteExport extends RouteFilter {
  readonly format: ExportFormat
}

/** The columns of an export, named and ordered as in `farewatch.routes_current`. */
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

/**
 * Writes routes as text, a page at a time, in the order of their ids: CSV under a header, or one JSON array.
 *
 * Nothing is read ahead: the next page is asked for when the last one was taken, and whoever stops taking them
 * leaves nothing open. Times are ISO 8601 in UTC; an availability that is not known is empty, or null.
 */
export function exportRoutes(db: Db, { format, ...filter }: RouteExport): AsyncGenerator<string> {
  const pages = streamRoutes(db, filter)
  return format === 'csv' ? csvText(pages) : jsonText(pages)
}

/** Pages of CSV lines. A cell that begins like a formula stands behind an apostrophe: a spreadsheet would run it. */
export async function* csvText(pages: AsyncIterable<readonly RouteRow[]>): AsyncGenerator<string> {
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

async function* jsonText(pages: AsyncIterable<readonly RouteRow[]>): AsyncGenerator<string> {
  const object = (row: RouteRow) =>
    JSON.stringify(Object.fromEntries(COLUMNS.map(([field, column]) => [column, row[field]])))
  yield* jsonArray(pages, object)
}

/** One JSON array, an element a line. */
export async function* jsonArray(
  pages: AsyncIterable<readonly RouteRow[]>,
  elementOf: (row: RouteRow) => string,
): AsyncGenerator<string> {
  let separator = '[\n'
  for await (const page of pages) {
    yield separator + page.map(elementOf).join(',\n')
    separator = ',\n'
  }
  yield separator === '[\n' ? '[]\n' : '\n]\n'
}
